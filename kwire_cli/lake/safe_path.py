"""Python processes import nothing from the current folder.

Python looks for modules in the current folder first if it is started with -m or -c, as multiprocessing and Spark start
it. That folder may come from anyone: an unpacked archive, for example, that contains a folder called kwire_cli.
"""

from __future__ import annotations

import os

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""The variables of processes that do not import from the current folder. Python reads this one from 3.11 on."""


def keep_current_folder_out() -> None:
    """Prevent child processes from importing modules from the current folder."""
    os.environ.update(SAFE_PATH)
