#!/usr/bin/env bash
# The pictures in the README, made again: the two pages of the demo's release as a browser shows them.
# Needs Debian's chromium, Pillow, and Kagemusha.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

python -c 'from kagemusha.cli import main; main()' demo --out demo

shoot() { # page, width,height, picture
  chromium --headless --no-sandbox --disable-gpu --disable-background-networking --hide-scrollbars \
    --user-data-dir="$work/browser" --window-size="$2" --screenshot="$work/$3" "file://$work/demo/doubles/$1" 2>/dev/null
  # pages have few colours, and a picture of few colours is half the size
  python -c "from PIL import Image; Image.open('$work/$3').convert('RGB').quantize(256, dither=0).save('$here/$3', optimize=True)"
}
shoot certificate.html 820,395 certificate.png
shoot quality.html 820,1330 quality.png
