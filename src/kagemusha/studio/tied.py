"""A command that ends with whoever started it: `python -m kagemusha.studio.tied COMMAND`, its input a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def main() -> None:
    """Run the command; when our input closes, however that came, it is stopped."""
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)

    def watch() -> None:
        os.read(0, 1)
        child.terminate()

    threading.Thread(target=watch, daemon=True).start()
    sys.exit(child.wait())


if __name__ == "__main__":
    main()
