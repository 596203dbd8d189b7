"""`kwire dump --verify`: the faults of log directories, partitions and files, a line each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.segments import path_text
from kwire_cli.errors import InputError
from kwire_cli.source.logs.segments import nothing_in
from kwire_cli.stores import path_of
from kwire_cli.verify import Checked, Fault, verify_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.view.lines import Line

COLUMNS = ("fault", "file", "position", "offset", "text")


def show_faults(environment: Environment, paths: tuple[str, ...], fmt: str, *, deep: bool) -> int:
    """Verify all paths, show each fault as it is found, and say on standard error how much was looked at.

    Raises:
        InputError: A path is not there, cannot be read, or holds nothing that could be verified.

    """
    checked = Checked()
    return show_found(environment, ((path, verify_path(path, deep=deep, checked=checked)) for path in verifiable(paths)), checked, fmt)


def verifiable(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths, which are files and folders that are there; InputError for others."""
    if not paths or "-" in paths:
        raise InputError("--verify cross-checks the files of a log directory: give files or folders, not standard input")
    for path in paths:
        if not path_of(path).exists():
            raise InputError("there is no such file", file=path_text(path))
    return paths


def show_found(environment: Environment, paths: Iterable[tuple[str, Iterator[Fault]]], checked: Checked, fmt: str) -> int:
    """Show the faults of each path, and say how much was looked at, which `checked` says when they are through.

    InputError where there is no fault and no batch either: nothing was looked at that could be healthy.
    """
    show = _SHOW.get(fmt, _show_text)
    if fmt == "csv":
        _show_csv(environment, None)
    found, empty = 0, []
    for path, faults in paths:
        before = (checked.logs, found)
        for fault in faults:
            if fmt == "table" and not found:
                environment.write_lines([_table_heading()])
            found += 1
            show(environment, fault._replace(file=path_text(fault.file)))
        if (checked.logs, found) == before and path_of(path).is_dir():
            empty.append(path_of(path))
    environment.flush()
    if empty:
        raise nothing_in(empty[0], "segment and no snapshot")
    files = f"in {_count(checked.files, 'file')}"
    what = f"{files} with {_count(checked.batches, 'batch', 'batches')}" if checked.logs else files
    if checked.logs and not checked.batches and not found:
        logs = _count(checked.logs, "segment")
        raise InputError(f"0 batches {files}: {logs} without a batch, so there was nothing to verify")
    environment.note(f"kwire: {_count(found, 'fault')} {what}" if found else f"kwire: nothing wrong {what}")
    return Exit.FOUND if found else Exit.DONE


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _show_text(environment: Environment, fault: Fault) -> None:
    from kwire_cli.view.table import text_of

    line: Line = [(fault.code, "warning"), (f" {text_of(fault.file)}", "name")]
    if fault.position is not None:
        line += [(" at ", "dim"), (str(fault.position), "number")]
    if fault.offset is not None:
        line += [(" offset ", "dim"), (str(fault.offset), "number")]
    environment.write_lines([[*line, (": ", "dim"), (text_of(fault.text), "")]])


def _table_heading() -> Line:
    from kwire_cli.view.grid import Cells

    return Cells(
        [(f"{'fault':<23}  {'position':>10}  {'offset':>10}  file and text", "dim")], ("fault", "position", "offset", "file and text", ""), heads=True
    )


def _show_table(environment: Environment, fault: Fault) -> None:
    from kwire_cli.view.grid import Cells
    from kwire_cli.view.table import text_of

    place = ["" if number is None else str(number) for number in (fault.position, fault.offset)]
    file, text = text_of(fault.file), text_of(fault.text)
    line: Line = [(f"{fault.code:<23}", "warning"), (f"  {place[0]:>10}  {place[1]:>10}  ", "number"), (file, "name"), (f"  {text}", "")]
    cells = [fault.code, *("" if number is None else number for number in (fault.position, fault.offset)), file, text]
    environment.write_lines([Cells(line, cells, heads=False, texts=[fault.code, *place, file, text])])


def _show_json(environment: Environment, fault: Fault, *, indent: bool = True) -> None:
    from kwire_cli.view.json import dumps

    environment.write(dumps(fault.to_json(), indent=indent))


def _show_csv(environment: Environment, fault: Fault | None) -> None:

    environment.write_csv(COLUMNS if fault is None else [*fault.to_json().values()])


_SHOW: dict[str, Callable[[Environment, Fault], None]] = {
    "table": _show_table,
    "json": _show_json,
    "jsonl": partial(_show_json, indent=False),
    "csv": _show_csv,
}
