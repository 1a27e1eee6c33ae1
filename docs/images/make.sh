#!/usr/bin/env bash
# The pictures in the README and the Japanese ones, made again: the pages of the demo's release as a browser shows them.
# Needs Debian's chromium and fonts-noto-cjk, Pillow, and Kagemusha.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

kagemusha() { python -c 'from kagemusha.cli import main; main()' "$@"; }
kagemusha demo --out demo
kagemusha verify demo/doubles --language ja --page demo/certificate.ja.html --quality-page demo/quality.ja.html

shoot() { # page, width,height, picture
  chromium --headless --no-sandbox --disable-gpu --disable-background-networking --hide-scrollbars \
    --user-data-dir="$work/browser" --window-size="$2" --screenshot="$work/$3" "file://$work/demo/$1" 2>/dev/null
  # pages have few colours, and a picture of few colours is half the size
  python -c "from PIL import Image; Image.open('$work/$3').convert('RGB').quantize(256, dither=0).save('$here/$3', optimize=True)"
}
shoot doubles/certificate.html 820,395 certificate.png
shoot doubles/quality.html 820,1330 quality.png
shoot certificate.ja.html 820,900 certificate-ja.png
shoot quality.ja.html 820,1500 quality-ja.png
