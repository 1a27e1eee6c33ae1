"""The part of the changelog about one version: `python docs/release_notes.py 0.2.0`.

Refuses a version that is not the program's, or that is still called unreleased.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(version: str, changelog: str) -> str:
    """What the changelog says of a version; a ValueError if it says nothing, or that it is unreleased."""
    parts = re.split(r"^## (?=\d)", changelog, flags=re.M)[1:]
    for part in parts:
        head, _, body = part.partition("\n")
        if head.split()[0] == version:
            if "unreleased" in head:
                raise ValueError(f"CHANGELOG.md calls {version} unreleased: write the date there first")
            return body.strip() + "\n"
    raise ValueError(f"CHANGELOG.md says nothing of {version}")


if __name__ == "__main__":
    wanted = sys.argv[1]
    source = (ROOT / "src" / "kagemusha" / "version.py").read_text(encoding="utf-8")
    if f'__version__ = "{wanted}"' not in source:
        sys.exit(f"the tag says {wanted}, and src/kagemusha/version.py does not")
    try:
        print(notes(wanted, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    except ValueError as error:
        sys.exit(str(error))
