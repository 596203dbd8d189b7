"""Where machine code is kept between processes: a folder of the user's own. Apart from `compiled`, so that asking for it imports nothing heavy."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.engine import codes, program as p

if TYPE_CHECKING:
    from collections.abc import Callable


def cache_folder(function: Callable[..., Any]) -> Path | None:
    """Where the machine code of a function is kept; None where there is no folder of the user's own that can be written to.

    It is in `NUMBA_CACHE_DIR` or `XDG_CACHE_HOME` where they are set, else in `~/.cache`, else among temporary files. What is kept there is run: a
    folder that others can write to is none.
    """
    try:
        sources = [inspect.getsource(module) for module in (p, codes, sys.modules[function.__module__])]
    except (OSError, TypeError):
        return None
    name = f"kwire-{hashlib.sha256(''.join(sources).encode()).hexdigest()[:16]}"
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    candidates = [Path(named)] if named else []
    with contextlib.suppress(RuntimeError):  # there is no home
        candidates.append(Path.home() / ".cache")
    owner = os.getuid() if hasattr(os, "getuid") else 0
    candidates.append(Path(tempfile.gettempdir()) / f"kwire-{owner}")
    return next((base / name for base in candidates if _is_ours(base / name)), None)


def _is_ours(folder: Path) -> bool:
    """Whether this folder is there, or could be made, and only its owner, who runs this, may write into it and the one around it."""
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid"):
            for each in (folder, folder.parent):
                found = each.stat()
                if found.st_uid != os.getuid() or found.st_mode & 0o022:
                    return False
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
