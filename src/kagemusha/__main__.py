"""`python -m kagemusha` is the `kagemusha` command."""

from kagemusha.cli import main

main()
