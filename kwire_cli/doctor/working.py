"""Whether what is installed does its work: each library is imported by a process of its own, and what matters most is tried."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.doctor.findings import Finding, one_line
from kwire_cli.doctor.libraries import Need, needs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SECONDS = 180
"""How long one trial may take. The first start of Spark on a busy machine takes half a minute."""

MODULES = {
    "cryptography": "cryptography.hazmat.primitives.ciphers.aead",
    "protobuf": "google.protobuf.message",
    "opentelemetry-proto": "opentelemetry.proto.metrics.v1.metrics_pb2",
}
"""What to import of distributions that are not called as their module, or load what matters only when it is used."""


class Trial(NamedTuple):
    """A function of `trials`, run by a process of its own."""

    name: str
    function: str
    wants: tuple[str, ...] = ()
    """Distributions without which it is not tried; `java` is a program."""
    purpose: str = ""


TRIALS = (
    Trial("all definitions are read", "definitions", (), "every command"),
    Trial("each compression is packed and unpacked", "compression", (), "records"),
    Trial("a function is compiled", "machine_code", ("numba", "numpy"), "kwire scan"),
    Trial("Spark runs a job of three rows", "spark", ("pyspark", "pyarrow", "pandas", "numba", "numpy", "java"), "kwire scan"),
)


def tried(unusable: frozenset[str], told: Callable[[str], None], trials: Sequence[Trial] = TRIALS) -> Iterator[Finding]:
    """A finding for each library that is installed, and for each trial of which nothing is `unusable`; `told` is called before each."""
    for name in sorted({need.name for need in _needs()} - unusable):
        module = MODULES.get(name, name)
        told(f"import {module}")
        yield _run(f"import {module}", f"import {module}", f"all that needs {name}")
    for trial in trials:
        if unusable.isdisjoint(trial.wants):
            told(trial.name)
            yield _run(trial.name, f"from kwire_cli.doctor import trials; trials.{trial.function}()", trial.purpose)


def _needs() -> list[Need]:
    with contextlib.suppress(PackageNotFoundError):
        return [*needs()]
    return []


def _run(name: str, code: str, purpose: str) -> Finding:
    command = [sys.executable, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=SECONDS)  # noqa: S603 - our own code
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("trials", name, "broken", one_line(error), purpose, "see whether this Python can be run, and whether the machine is busy")
    if done.returncode == 0:
        return Finding("trials", name, "ok", "", purpose)
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = said[-1] if said else f"its process ended with {done.returncode}"
    return Finding("trials", name, "broken", one_line(last)[:300], purpose, "install again what it names")
