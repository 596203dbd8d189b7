"""Whether Spark can run here: its Python packages, and a Java that is new enough."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST = 17
"""Spark 4 runs on no older Java."""
PACKAGES = ("pyspark", "pyarrow", "pandas", "numpy", "numba")
HOW = f"install Java {OLDEST} or newer (apt install openjdk-17-jre-headless on Debian and Ubuntu), or set JAVA_HOME to where it is"
_VERSION = re.compile(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)')


def check(variables: Mapping[str, str] = os.environ) -> None:
    """Nothing where Spark can be started; InputError says what is missing and how to get it."""
    if (found := java_version(variables)) is not None and found < OLDEST:
        raise InputError(f"Spark needs Java {OLDEST} or newer, and {_java(variables)} is Java {found}: {HOW}")
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(f"Spark is needed for this, and {', '.join(missing)} {verb} not installed: pip install 'kwire[spark]'")


def java_version(variables: Mapping[str, str] = os.environ) -> int | None:
    """The feature version of the Java that Spark would run, such as 17; None where it does not say. InputError where there is none."""
    java = _java(variables)
    beside = Path(java).resolve().parent.parent / "release"  # read, as starting a Java takes long
    try:
        text = beside.read_text("utf-8", "replace")
    except OSError:
        try:
            text = subprocess.run([java, "-version"], capture_output=True, check=False, text=True, timeout=60).stderr  # noqa: S603 - the user's Java
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"Spark needs Java, and {java} does not run ({error}): {HOW}") from None
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def _java(variables: Mapping[str, str]) -> str:
    """The program that Spark's scripts run: that of JAVA_HOME, else the first one on PATH."""
    home = variables.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=variables.get("PATH"))
    if not java or (home and not Path(java).exists()):
        where = f"JAVA_HOME={home} has no bin/java" if home else "there is no Java on PATH"
        raise InputError(f"Spark needs Java, and {where}: {HOW}")
    return java
