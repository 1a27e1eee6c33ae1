"""The `kagemusha` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; mistakes of the user end with one line and an exit code, never with a traceback."""
    import click

    from kagemusha.cli.app import app
    from kagemusha.cli.output import fail
    from kagemusha.errors import KagemushaError

    try:
        result = app(standalone_mode=False)
    except KagemushaError as error:
        fail(str(error), error.exit_code)
    except click.exceptions.Abort:
        fail("stopped", 130)
    except KeyboardInterrupt:
        fail("stopped. What was paid for is in the ledger: the same command goes on without paying again", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
    else:
        sys.exit(result if isinstance(result, int) else 0)
