"""The kwire command, also as `python -m kwire_cli`.

Imports create objects that are never released. The garbage collector would examine them many times, so it is off until
`main` starts it.
"""

import gc

gc.disable()

from kwire_cli.cli.main import main  # noqa: E402 - the collector has to be off before

if __name__ == "__main__":
    main()
