"""Where the bundled specs lie, and how their bytes are read."""

from __future__ import annotations

import json
import os.path
from functools import cache
from typing import Any

from kwire_cli.errors import SpecError


@cache
def specs_folder() -> str:
    """The folder of the bundled specs: inside the package in a wheel and in a zip, beside it in a checkout or an editable install."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib's import costs more than the decode
    in_zip = not os.path.isdir(package)  # noqa: PTH112 - as above
    package = package if in_zip else os.path.abspath(package)  # noqa: PTH100 - as above
    inside = os.path.join(package, "specs")  # noqa: PTH118 - as above
    return inside if in_zip or os.path.isdir(inside) else os.path.join(os.path.dirname(package), "specs")  # noqa: PTH112, PTH118, PTH120 - as above


def read_bundled(name: str) -> Any:
    """The parsed JSON of a bundled file, named relative to the specs folder; SpecError where it cannot be read."""
    path = os.path.join(specs_folder(), name)  # noqa: PTH118 - as above
    loader: Any = __spec__.loader  # it reads from what this module was read from: a folder or a zip
    try:
        return json.loads(loader.get_data(path))
    except ValueError as error:
        how = "; definitions get there by python -m kwire_cli.spec.importer add FILE, which leaves comments out"
        raise SpecError(f"a file of kwire's installation is not valid JSON: {error}{how if name[:1].isupper() else ''}", file=path) from error
    except OSError as error:
        raise SpecError(f"a file of kwire's installation cannot be read: {error}", file=path) from error
