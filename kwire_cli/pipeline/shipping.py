"""kwire sent with a job to the workers of a cluster, which need not have it, or not this version of it; what it stands on they need."""

from __future__ import annotations

import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import kwire_cli
from kwire_cli.spec.location import specs_folder

if TYPE_CHECKING:
    from pyspark import SparkContext

PACKAGE = Path(kwire_cli.__file__).parent


def ship(context: SparkContext) -> None:
    """Have the workers of a cluster import this kwire, unless the job brings one by itself (`--py-files kwire.zip`): then that one."""
    brought: list[str] = context._python_includes or []  # noqa: SLF001 - nothing else names them
    if not str(context.master).startswith("local") and PACKAGE.is_dir() and not any(name.startswith("kwire") for name in brought):
        context.addPyFile(str(pack(Path(_folder().name) / "kwire.zip")))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """As long as this process is there: workers may ask for what is in it at any time."""
    return tempfile.TemporaryDirectory(prefix="kwire-shipped-")


def pack(path: Path) -> Path:
    """Write the package as a zip that Python can import, with the specs in it as in a wheel."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed:
        for folder, name in ((PACKAGE, PACKAGE.name), (Path(specs_folder()), f"{PACKAGE.name}/specs")):
            for file in sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    packed.write(file, f"{name}/{file.relative_to(folder)}")
    return path
