"""One run of `kwire dump`, and how it shows batches and records: a function for each format, of a run and an item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cli.environment import Progress
from kwire_cli.cli.old_options import HEX_ROWS

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.selection import Selection
    from kwire_cli.spec.catalog import Catalog


@dataclass
class Run:
    """One run of the command: what was asked for, and what came out so far."""

    environment: Environment
    catalog: Catalog
    fmt: str
    options: dict[str, Any]
    selection: Selection
    several: bool = False
    found: bool = False
    odd: bool = False
    nothing: bool = False
    """Whether a file had bytes and no batch."""
    files: int = 0
    """Files that were read for their batches."""
    headed: bool = False
    columns: tuple[str, ...] = ()
    """Those of the csv heading that was printed last."""
    file: str = ""
    left: int | None = None
    page: Any = None
    """With --format html, what is written."""
    data: Any = None
    topic: str | None = None
    """The bytes of the file at work, and whose records they are."""
    topics: set[str] = field(default_factory=set)
    seen: int = 0
    chosen: int = 0
    """The topics that there are, batches that were read, and those of them that were shown: where these are none, what
    there was to choose from."""
    trouble: Any = None
    """With --like-kafka, what is said behind the last file."""

    def __post_init__(self) -> None:
        self.progress = Progress(self.environment)
        from kwire_cli.message.redaction import Redaction

        self.redaction = Redaction(self.catalog, show_secrets=self.options["show_secrets"])

    @property
    def is_empty(self) -> bool:
        """Return whether there was a selection and nothing was selected."""
        return (
            self.options["limit"] != 0
            and not self.chosen
            and not (self.selection.everything and not self.options["topics"])
        )

    @property
    def deep(self) -> bool:
        """Return whether records are shown."""
        return bool(self.options["deep"])


class Shown(NamedTuple):
    """An item to show, with records and their numbers where there was a choice; `notes` are what is odd in records, all
    once it was shown.
    """

    item: Batch | Gap
    records: list[tuple[int, Record]] | None
    notes: list[Anomaly]


def label_of(run: Run) -> dict[str, Any]:
    """Return what precedes the keys of a line: the file, if there may be several files."""
    return {"file": run.file} if run.several else {}


def _show_json(run: Run, shown: Shown) -> None:
    item, records, notes = shown
    hide = run.redaction.record if run.deep else None
    from kwire_cli.records.gaps import Gap

    if run.fmt == "jsonl":
        from kwire_cli.view.batch_json import line_pieces

        chosen = None if records is None else [records]
        for piece in line_pieces(item, label=label_of(run), deep=run.deep, hide=hide, chosen=chosen, notes=notes):
            run.environment.write_text(piece)
        return
    from kwire_cli.records.batch import head_json, record_json
    from kwire_cli.view.json import dumps

    if isinstance(item, Gap):
        document = item.to_json(deep=run.deep, hide=hide)
    else:
        document = head_json(item)
        if run.deep:
            document["records"] = [record_json(item, record, number, notes, hide) for number, record in records or ()]
        document["anomalies"] = [note._asdict() for note in (*item.notes, *notes)]
    run.environment.write(dumps(label_of(run) | document, indent=True))


def _show_tree(run: Run, shown: Shown) -> None:
    item, records, notes = shown
    from kwire_cli.view.batch_tree import tree_lines

    records = records if run.deep else None
    run.environment.write_lines(
        tree_lines(item, records, notes, run.redaction.record, full=run.options["full"], pretty=run.options["pretty"])
    )


def _show_hex(run: Run, shown: Shown) -> None:
    from kwire_cli.view.hex import batch_hex_lines

    run.environment.write_lines(
        batch_hex_lines(
            run.catalog, shown.item, run.redaction.record, deep=run.deep, rows=None if run.options["full"] else HEX_ROWS
        )
    )


def _show_table(run: Run, shown: Shown) -> None:
    item, records, _ = shown
    from kwire_cli.records.gaps import Gap
    from kwire_cli.view.batch_table import batch_row, gap_row, heading, record_row

    lines = [] if run.headed else [heading(deep=run.deep)]
    run.headed = True
    batch = item.batch if isinstance(item, Gap) else item
    if isinstance(item, Gap) or not run.deep:
        lines.append(gap_row(item) if isinstance(item, Gap) and run.deep else batch_row(item))
    if run.deep and batch:
        hide = run.redaction.record
        lines += [record_row(batch, record, hide) for _, record in records or ()]
    run.environment.write_lines(lines)


def _show_csv(run: Run, shown: Shown) -> None:
    item, records, _ = shown
    from kwire_cli.records.gaps import Gap
    from kwire_cli.view.batch_table import CSV_BATCH, CSV_RECORD, batch_cells, gap_cells, record_cells

    label = list(label_of(run).values())
    if not run.headed:
        run.environment.write_csv([*label_of(run), *(CSV_RECORD if run.deep else CSV_BATCH)])
        run.headed = True
    if not run.deep:
        rows = [batch_cells(item)]
    else:
        batch = item.batch if isinstance(item, Gap) else item
        rows = [gap_cells(item)] if isinstance(item, Gap) else []
        if batch:
            hide = run.redaction.record
            rows += [record_cells(batch, record, hide) for _, record in records or ()]
    for row in rows:
        run.environment.write_csv([*label, *row])


def _show_on_page(run: Run, shown: Shown) -> None:
    from kwire_cli.records.gaps import Gap
    from kwire_cli.view.html.frames import entry, gap_entry, row
    from kwire_cli.view.html.outline import Outline

    item, hide, outline = shown.item, run.redaction.record, Outline(full=run.options["full"])
    if isinstance(item, Gap):
        run.page.add(row(item), gap_entry(run.catalog, item, run.data, hide, run.topic, outline))
    else:
        run.page.add(row(item), entry(run.catalog, item, hide, outline))


SHOW = {
    "tree": _show_tree,
    "table": _show_table,
    "json": _show_json,
    "jsonl": _show_json,
    "csv": _show_csv,
    "hex": _show_hex,
    "html": _show_on_page,
}
