"""Where the bundled specs lie, and how their bytes are read."""

from __future__ import annotations

import json
import os.path
from functools import cache
from typing import Any

from kwire_cli.errors import SpecError


@cache
def specs_folder() -> str:
    """The folder of the bundled specs: inside the package in a wheel, beside it in a checkout or an editable install."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib's import costs more than the decode
    inside = os.path.join(package, "specs")  # noqa: PTH118 - as above
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "specs")  # noqa: PTH112, PTH118, PTH120 - as above


def read_bundled(name: str) -> Any:
    """The parsed JSON of a bundled file, named relative to the specs folder; SpecError where it can't be read."""
    path = os.path.join(specs_folder(), name)  # noqa: PTH118 - as above
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return json.loads(file.read())
    except (OSError, ValueError) as error:
        raise SpecError(f"a file of kwire's installation can't be read: {error}", file=path) from error
