"""The library by the name of the command: `import kwire` is `import kwire_cli`.

Wheels contain this file as `kwire.py`, next to the package.
"""

import sys
from typing import TYPE_CHECKING

import kwire_cli

if TYPE_CHECKING:
    from kwire_cli import *  # noqa: F403 - all public names, and no others
else:
    sys.modules[__name__] = kwire_cli
