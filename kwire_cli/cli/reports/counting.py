"""Common parts of reports on exchanges: counting in tasks, and notes on what could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.cli.capture_inputs import tell_of_logs
from kwire_cli.cli.options import naming_of
from kwire_cli.errors import InputError
from kwire_cli.view.lines import counted as number_of

if TYPE_CHECKING:
    from kwire_cli.cli.reports import Asked
    from kwire_cli.pipeline.parts import Faults
    from kwire_cli.pipeline.reports import How


def of_captures(asked: Asked) -> dict[str, Any]:
    """Return the options for reading captures, as the pipeline takes them."""
    options, note = asked.options, asked.environment.note
    return {
        "port": options["port"],
        "key_logs": options["tls_keylog"],
        "naming": naming_of(options),
        "note": lambda text: note(f"kwire: {text}"),
    }


def counted(asked: Asked, how: How, together: str) -> list[Any]:
    """Return what was counted of request logs, and then of captures, each if anything of them could be read.

    Where there are both, a note says so, and by `together` how their answers stand beside each other.

    InputError where there is nothing to count, and with --fail-fast where something could not be read.
    """
    from kwire_cli.pipeline.parts import Faults
    from kwire_cli.pipeline.reports import count

    found = count(asked.spark, asked.paths, how, asked.options["catalog"], **of_captures(asked))
    faults = Faults()
    for each in found:
        faults.merge(each.faults)
    tell(asked, faults)
    read = [each for each in found if each.lines]
    if len(found) > 1:
        tell_of_logs(asked.environment, found[0].files, together)
    if not read:
        raise InputError("no capture or request log in this could be read")
    summary = asked.summary
    summary.files, summary.size, summary.rows = (
        sum(len(each.files) for each in found),
        sum(each.size for each in found),
        sum(each.lines for each in read),
    )
    return [each.counts for each in read]


def tell(asked: Asked, faults: Faults) -> None:
    """Say what could not be read. InputError with --fail-fast, where there is anything."""
    asked.summary.faults = faults.count
    for fault in faults.first:
        if asked.options["fail_fast"]:
            raise InputError(fault.text, file=fault.file)
        asked.environment.note(f"kwire: {fault.file}: {fault.text}")
    if more := faults.count - len(faults.first):
        asked.environment.note(f"kwire: and {number_of(more, 'more fault')}")
