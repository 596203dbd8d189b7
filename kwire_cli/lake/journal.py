"""The journals of runs: where the files of a run go, and which files they replace.

A run writes its journal before it moves its files. Readers of a lake write nothing: as long as there is a journal, they
leave out the new files until all are in their places, then the files that these replace. A lake may come from anyone,
so the paths of a journal are checked before a run acts on them: they name files of tables below the lake, and no link
leads there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.lake import FORMATS
from kwire_cli.lake.tables import DAY, POINT, is_table, own_name
from kwire_cli.stores import exists, in_order
from kwire_cli.stores.writing import below

if TYPE_CHECKING:
    from kwire_cli.stores import Place

HIDDEN = "_run-"
"""The beginning of the names of folders that a run writes into: readers of Parquet pass over them."""
JOURNAL = "_journal.json"
_PART = r"[^/\\\0]+"
_PLACE = re.compile(
    rf"(?P<table>\w+)/(?:{POINT}={_PART}/)?(?:{DAY}={_PART}/)?(?!\.){_PART}\.(?:{'|'.join(FORMATS)})", re.ASCII
)
"""The path of a file of a table, below the folder of a lake."""


class Journal(NamedTuple):
    """The plan of a run: its files with their places in the lake, and the files that it replaces."""

    moves: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]


def read_journal(hidden: Place) -> Journal:
    """Return the journal in the hidden folder of a run.

    Raises:
        InputError: The journal is malformed, or names a place that is not a file of a table.

    """
    place = hidden / JOURNAL
    try:
        plan = json.loads(place.read_bytes())
        journal = Journal(tuple((name, target) for name, target in plan["moves"]), tuple(plan["gone"]))
        wrong = [name for name, _ in journal.moves if own_name(name) != name]
        for path in (*(target for _, target in journal.moves), *journal.gone):
            match = _PLACE.fullmatch(path)
            if not match or not is_table(match["table"]):
                wrong.append(path)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError("this is not the journal of a run: remove its folder", file=str(place)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(place)) from None
    if wrong:
        raise InputError(f"{wrong[0]!r} is not a file of a table in this lake: remove the folder", file=str(place))
    return journal


class Unfinished(NamedTuple):
    """The files that readers leave out because runs have moved only some of their files, and the runs."""

    files: frozenset[str] = frozenset()
    runs: tuple[str, ...] = ()


def find_unfinished(folder: Place) -> Unfinished:
    """Return the files of a lake that do not count, since runs with a journal are not finished.

    The new files of a run count once all of them are in their places. Then those that they replace do not.

    Raises:
        InputError: The journal of a run is malformed, or names a place that is not a file of a table.

    """
    files: set[str] = set()
    runs = []
    for hidden in in_order(folder.iterdir()):
        if not hidden.name.startswith(HIDDEN) or not exists(hidden / JOURNAL):
            continue
        try:
            journal = read_journal(hidden)
        except InputError:
            if exists(hidden / JOURNAL):
                raise
            continue  # the run has ended meanwhile
        there = {*below(hidden)}
        is_moving = any(name in there for name, _ in journal.moves)
        files |= {target for _, target in journal.moves} if is_moving else {*journal.gone}
        runs.append(hidden.name)
    return Unfinished(frozenset(files), tuple(runs))


def refuse_links(folder: Place, hidden: Place, journal: Journal) -> None:
    """Raise InputError if a file of a journal is a link, or if a link leads from the lake to its place."""
    if not isinstance(folder, Path):
        return
    paths = {folder / hidden.name, *(folder / hidden.name / name for name, _ in journal.moves)}
    for target in (*(target for _, target in journal.moves), *journal.gone):
        paths |= {folder / above for above in Path(target).parents if above != Path()}
    for link in sorted(path for path in paths if path.is_symlink()):
        raise InputError("this is a link, which a run does not follow: remove it", file=str(link))
