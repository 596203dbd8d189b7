"""What is around kwire: the Python that runs it, programs that it starts or reads from, its files, the folder for machine code, the terminal."""

from __future__ import annotations

import locale
import os
import platform
import shutil
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kwire_cli import __version__
from kwire_cli.doctor.findings import Finding, State, one_line
from kwire_cli.errors import InputError, KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OLDEST = (3, 11)
PROGRAMS = {
    "tcpdump": ("captures as they are made: tcpdump -U -w - | kwire decode -", "apt install tcpdump, or your system's package of this name"),
    "dumpcap": ("the same, in pcapng: dumpcap -w - | kwire decode -", "apt install wireshark-common, or your system's package of Wireshark"),
    "git": ("kwire breaking and diff with revisions (REVISION:PATH)", "apt install git, or your system's package of this name"),
}


def itself() -> Iterator[Finding]:
    """kwire, Python, and the definitions that come with kwire."""
    from kwire_cli.spec.catalog import catalog  # noqa: PLC0415 - where that fails, all else is still told
    from kwire_cli.spec.location import specs_folder  # noqa: PLC0415

    yield Finding("kwire", "kwire", "ok", __version__)
    python = f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()} {platform.machine()})"
    wrong = sys.version_info < OLDEST
    yield Finding("kwire", "python", "broken" if wrong else "ok", python, how=f"install Python {OLDEST[0]}.{OLDEST[1]} or newer" if wrong else "")
    try:
        known = catalog()
        found = f"{len(known)} messages, {len(known.apis)} apis, in {specs_folder()}"
        missing = [entry.name for entry in known if not os.path.exists(os.path.join(specs_folder(), entry.file))]  # noqa: PTH110, PTH118 - few imports
    except KwireError as error:
        yield Finding("kwire", "definitions", "broken", one_line(error), "every command", "install kwire again")
        return
    if missing and os.path.isdir(specs_folder()):  # noqa: PTH112 - as above; of a zip it is none
        yield Finding("kwire", "definitions", "broken", f"the file of {missing[0]} is missing", "every command", "install kwire again")
        return
    yield Finding("kwire", "definitions", "ok", found)


def programs(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Java, and programs on PATH."""
    from kwire_cli.pipeline import java  # noqa: PLC0415 - as above

    purpose = "kwire scan"
    try:
        found = java.java_version(variables)
    except InputError as error:
        state: State = "broken" if variables.get("JAVA_HOME") or shutil.which("java", path=variables.get("PATH")) else "absent"
        yield Finding("programs", "java", state, "" if state == "absent" else one_line(error), purpose, java.HOW)
    else:
        old = found is not None and found < java.OLDEST
        said = "of an unknown version" if found is None else str(found)
        yield Finding("programs", "java", "broken" if old else "ok", said, purpose, java.HOW if old else "")
    for name, (needed, how) in PROGRAMS.items():
        path = shutil.which(name, path=variables.get("PATH"))
        yield Finding("programs", name, "ok" if path else "absent", path or "", needed, "" if path else how)


def places(variables: Mapping[str, str], *, to_terminal: bool, in_colour: bool) -> Iterator[Finding]:
    """The folder in which machine code is kept, and what results are written to."""
    yield _machine_code()
    size = shutil.get_terminal_size()
    text = locale.getpreferredencoding(do_setlocale=False)
    colours = "colours" if in_colour else "no colours"
    found = f"{variables.get('TERM') or 'TERM is not set'}, {size.columns} columns, {colours}" if to_terminal else f"no terminal, {colours}"
    utf8 = text.lower().replace("-", "") == "utf8"
    how = "" if utf8 else f"kwire writes UTF-8, and this system says {text}: set LC_ALL=C.UTF-8"
    yield Finding("surroundings", "output", "ok" if utf8 else "absent", found, "tree, table and other formats for eyes", how)


def _machine_code() -> Finding:
    from kwire_cli.engine import kernel  # noqa: PLC0415 - as above
    from kwire_cli.engine.kept import cache_folder  # noqa: PLC0415

    purpose = "kwire scan starts quickly"
    if find_spec("numba") is None:
        return Finding(
            "surroundings",
            "cache",
            "absent",
            "",
            purpose,
            "pip install 'kwire[fast]' or 'kwire[spark]': without numba there is no machine code to keep",
        )
    folder = cache_folder(kernel.run)
    if folder is None:
        how = "set XDG_CACHE_HOME to a folder that only you can write to: until then each process compiles for some seconds"
        return Finding("surroundings", "cache", "absent", "no folder that can be written to", purpose, how)
    kept = sum(1 for _ in folder.rglob("*.nbc"))
    return Finding(
        "surroundings", "cache", "ok", f"{folder}, {f'{kept} functions kept' if kept else 'nothing kept yet: the first scan compiles'}", purpose
    )
