"""`kwire dump`: log segments, snapshots and folders of them, batch by batch or record by record."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.batches import SHOW, Run, Shown, label_of
from kwire_cli.cli.completion import complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.old_options import (
    EXIT_CODE,
    HEX_ROWS,
    limits_of,
    refuse_format,
    with_csv,
    with_output,
    with_overlaid_catalog,
)
from kwire_cli.cli.segments import SegmentFile, files_of, note_links, segment_files
from kwire_cli.errors import InputError
from kwire_cli.records.formats import CHOICES
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.filter import Rows
    from kwire_cli.records.batch import Batch, Record, Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.reading import Reader
    from kwire_cli.records.selection import Selection
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.spec.catalog import Catalog

FORMATS = tuple(SHOW)


@click.command(name="dump")
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=complete_file)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(FORMATS),
    help="Set the output format.  [default: tree on a terminal, jsonl elsewhere]",
)
@click.option("--deep", is_flag=True, help="Show the records of each batch.")
@click.option(
    "--all", "every", is_flag=True, help="Show indexes, snapshots, checkpoints and all other files of folders too."
)
@click.option(
    "--verify", is_flag=True, help="Report faults in checksums, offsets, sequences, transactions, indexes; exit with 1."
)
@click.option(
    "--like-kafka", is_flag=True, help="Print what Kafka's DumpLogSegments prints (--deep is its --print-data-log)."
)
@click.option("--state", is_flag=True, help="Show the state that Kafka's internal topics add up to.")
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="OFFSET",
    help="Show the state at this offset, its record included (with --state).",
)
@click.option("--offsets", metavar="A-B", help="Show only batches, or records with --deep, with these offsets.")
@click.option(
    "--time",
    "times",
    metavar="A-B",
    help="Show only batches of these times: milliseconds or dates, such as 2026-11-21T10:00:00Z.",
)
@click.option(
    "--filter",
    metavar="TEXT",
    help="Show only batches and records that match, such as 'producerId == 9'; see docs/filter.md.",
)
@click.option("--key", metavar="TEXT", help="Show only batches with records of this key.")
@click.option(
    "--grep", metavar="REGEX", help="Show only batches with a record that matches REGEX in key, value or headers."
)
@click.option(
    "--topic", "topics", multiple=True, metavar="NAME", help="Show only partitions of this topic (folders); repeatable."
)
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", help="Show at most this many batches; records with --deep."
)
@click.option(
    "--as-topic", metavar="NAME", help="Name the topic of the records.  [default: taken from the folder's name]"
)
@click.option(
    "--record-format",
    type=click.Choice(CHOICES),
    default="auto",
    show_default=True,
    help="Set the record format; auto goes by the magic byte.",
)
@click.option(
    "--max-decompressed",
    metavar="SIZE",
    help="Decompress at most this much of a batch, such as 512MiB.  [default: 256MiB]",
)
@click.option("--pretty", is_flag=True, help="Show JSON values on several lines in the tree.")
@click.option("--full", is_flag=True, help="Show long values in full in the tree and hex views.")
@click.option("--strict", is_flag=True, help="Exit with 1 on anomalies, gaps, or an input that ends early.")
@EXIT_CODE
@click.option("-v", "--verbose", is_flag=True, help="Name links to folders, and say whether they were followed.")
@click.option(
    "--show-secrets",
    is_flag=True,
    help="Show SCRAM credentials, tokens and sensitive configs instead of redacting them.",
)
@with_overlaid_catalog
@with_output
@with_csv
def command(environment: Environment, catalog: Catalog, paths: tuple[str, ...], fmt: str | None, **options: Any) -> int:
    """Show log segments and snapshots batch by batch; with --deep, record by record.

    PATH is files, folders (a partition or a whole log directory), - for standard input, or record batches as
    hex or in any form that kwire decode reads. Indexes, producer snapshots and checkpoints are shown too.
    Records of Kafka's internal topics are decoded.
    """
    if options["verbose"]:
        note_links(environment, paths)
    explicit_fmt, fmt = fmt, fmt or ("tree" if environment.to_terminal else "jsonl")
    if options["state"] or options["at"] is not None:
        return _state(environment, catalog, paths, fmt, options)
    if options["verify"]:
        return _verify(environment, paths, fmt, options)
    if options["like_kafka"]:
        if explicit_fmt:
            raise click.UsageError("--like-kafka prints lines of its own; it does not take --format")
        fmt = "like-kafka"
    run = Run(
        environment,
        catalog,
        fmt,
        options,
        _selection(catalog, options, "batches"),
        several=_several(paths),
        left=options["limit"],
    )
    if fmt == "html":
        from kwire_cli.cli.pages import new_page

        run.page, run.left = new_page(environment, "batches", "dump", paths, run.left), None
    with run.page or nullcontext():
        for file in files_of(environment, paths, every=options["every"]):
            if run.left == 0:
                break
            if file.topic:
                run.topics.add(file.topic)
            if not options["topics"] or file.topic in options["topics"]:
                show_file(run, file)
                environment.flush()
    run.progress.done()
    note_nothing(run)
    if run.files and not (run.found or run.nothing) and run.selection.everything:
        environment.note(f"kwire: 0 batches in {counted(run.files, 'file')}")
    if run.trouble:
        from kwire_cli.cli.log_files import show_trouble

        show_trouble(environment, run.trouble)
    if run.nothing and not run.found:
        raise InputError("there is no record batch in this; kwire decode reads requests, responses and captures")
    return Exit.FOUND if (options["strict"] and run.odd) or (options["exit_code"] and run.is_empty) else Exit.DONE


def note_nothing(run: Run) -> None:
    """Say that nothing is what was chosen, and of what."""
    wanted = run.options["topics"]
    if run.options["limit"] == 0:
        return
    if wanted and not run.topics & {*wanted}:
        there = (
            f"the topics here are {', '.join(sorted(run.topics))}" if run.topics else "no folder here is a partition's"
        )
        run.environment.note(f"kwire: there is no partition of {' or '.join(wanted)}: {there}")
    elif not run.selection.everything and not run.chosen:
        run.environment.note(f"kwire: nothing was chosen, of {counted(run.seen, 'batch', 'batches')}")


def _selection(catalog: Catalog, options: dict[str, Any], rows: Rows) -> Selection:
    """Return which batches and records are wanted; `rows` are those whose names --filter may have."""
    from kwire_cli.records.selection import Selection, grep_pattern, offset_range, time_range

    selection = Selection()
    if options["offsets"]:
        selection = replace(selection, offsets=offset_range(options["offsets"]))
    if options["times"]:
        selection = replace(selection, times=time_range(options["times"]))
    if options["filter"]:
        from kwire_cli.cli.capture_inputs import filter_of

        selection = replace(selection, filter=filter_of(catalog, options["filter"], rows))
    if options["key"] is not None:
        selection = replace(selection, key=options["key"].encode("utf-8", "surrogateescape"))
    if options["grep"] is not None:
        selection = replace(selection, pattern=grep_pattern(options["grep"]))
    return selection


def _verify(environment: Environment, paths: tuple[str, ...], fmt: str, options: dict[str, Any]) -> int:
    from kwire_cli.cli.partitions import show_faults

    flags = {
        "like_kafka": "--like-kafka",
        "offsets": "--offsets",
        "times": "--time",
        "filter": "--filter",
        "key": "--key",
        "grep": "--grep",
        "topics": "--topic",
    }
    flags |= {"filter": "--filter", "limit": "--limit", "as_topic": "--as-topic"}
    for name in [name for name in flags if options[name] not in {None, False, ()}]:
        raise click.UsageError(f"--verify checks all of a path; it does not take {flags[name]}")
    refuse_format("--verify", fmt, [form for form in FORMATS if form != "hex"])
    if fmt == "html":
        from kwire_cli.cli.pages import files_among, page_of

        return page_of(
            environment,
            "dump --verify",
            files_among(paths),
            lambda env: show_faults(env, paths, "table", deep=options["deep"]),
        )
    return show_faults(environment, paths, fmt, deep=options["deep"])


def _state(
    environment: Environment, catalog: Catalog, paths: tuple[str, ...], fmt: str, options: dict[str, Any]
) -> int:
    from kwire_cli.cli.partitions import BOTH, show_state

    if not options["state"]:
        raise click.UsageError("--at needs --state; --offsets A-B chooses batches and records")
    if fmt == "html":
        from kwire_cli.cli.pages import files_among, page_of

        return page_of(
            environment, "dump --state", files_among(paths), lambda env: _state(env, catalog, paths, BOTH, options)
        )
    odd = show_state(environment, catalog, files_of(environment, paths), fmt, options, limits_of(options))
    return Exit.FOUND if options["strict"] and odd else Exit.DONE


def _several(paths: tuple[str, ...]) -> bool:
    """Return whether there may be more than one file, so that lines have to name their file."""
    from kwire_cli.stores import exists, path_of

    return (len(paths) > 1 and any(map(exists, paths))) or any(
        exists(path) and path_of(path).is_dir() for path in paths
    )


def show_recognised(
    environment: Environment,
    catalog: Catalog,
    found: Recognised,
    fmt: str,
    options: dict[str, Any],
    run: Run | None,
    *,
    several: bool,
) -> Run:
    """Show what another command was given and this one shows: batches with their records, indexes, checkpoints. `run`
    is what was shown before.
    """
    if run is None:
        unset = dict.fromkeys(("offsets", "times", "key", "grep", "as_topic", "max_decompressed"))
        own = {
            "deep": options["records"] != "size",
            "every": True,
            "topics": (),
            "record_format": "auto",
            "pretty": False,
            **unset,
        }
        own["filter"] = options.get("filter")
        selection = _selection(catalog, own, "either")
        run = Run(
            environment,
            catalog,
            fmt,
            options | own,
            selection,
            several=several,
            left=options["limit"],
            page=options["page"],
        )
    if run.page:
        run.page.turn_to("batches")
    if options["verbose"]:
        environment.note(f"{found.label}: shown as kwire dump{' --deep' if run.deep else ''} shows it")
    for file in segment_files(found):
        show_file(run, file)
    run.progress.done()
    environment.flush()
    return run


def show_file(run: Run, file: SegmentFile) -> None:
    """Show a file of a log directory, or batches without one."""
    if not file.has_batches:
        _show_other(run, file)
        return
    from kwire_cli.records.batch import PADDING
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.reading import Reader, recognised_source

    view, form, topic_name = file.view, run.options["record_format"], run.options["as_topic"]
    source = recognised_source(
        view, given=topic_name, folder=file.topic, form=form, catalog=run.catalog, limits=limits_of(run.options)
    )
    if source.topic != (topic_name or file.topic):
        run.environment.note(
            f"kwire: {file.label}: its records are those of {source.topic}; --as-topic NAME reads them as another's"
        )
    run.data, run.topic = view, source.topic
    run.files += 1
    if run.fmt == "like-kafka":
        _show_like_kafka(run, file, source)
        return
    _begin_file(run, file)
    batches, gaps, run.columns = 0, 0, ()
    show = SHOW[run.fmt]
    reader = Reader(source)
    if run.fmt == "jsonl" and run.selection.everything and run.left is None:
        batches = _show_quickly(run, file, source, reader)
    for selected in _chosen(run, file, source, reader):
        item, _, notes = selected
        if run.page and run.page.is_full:
            run.page.leave(_next_page(item, len(run.page)))
            run.left = 0
            break
        if isinstance(item, Gap):
            gaps += item.batch is None
            run.found = run.found or item.batch is not None
            run.odd = run.odd or item.code != PADDING
        else:
            batches += 1
            run.found = True
        show(run, selected)
        if not isinstance(item, Gap) and (notes or item.notes):
            run.odd = True
    run.nothing = run.nothing or bool(gaps and not batches and run.selection.everything)


def _next_page(item: Batch | Gap, shown: int) -> str:
    """The option that gives the batches behind those that a page has; where a gap comes next, a page that has more."""
    from kwire_cli.records.gaps import Gap

    return f"--limit {2 * shown}" if isinstance(item, Gap) else f"--offsets {item.head.base_offset}-"


def _begin_file(run: Run, file: SegmentFile) -> None:
    """Make this file the current one. Print a heading with its name if lines do not name their file."""
    run.file = file.label
    if run.page and run.several:
        run.page.file = file.label
    if run.several and run.fmt in {"tree", "hex", "table"}:
        run.environment.write_lines([[(f"{file.label}:", "dim")]])
        run.headed = False


def _show_other(run: Run, file: SegmentFile) -> None:
    """A file of a log directory without batches: an index, a snapshot of producers, a checkpoint."""
    if not run.selection.everything or run.page:
        if run.page or not run.options["every"]:
            run.environment.note(
                f"kwire: {file.label}: left out, as it has no batches{'' if run.page else ' to choose from'}"
            )
        return
    run.found, run.chosen = True, run.chosen + 1
    if run.fmt == "like-kafka":
        from kwire_cli.cli.log_files import show_other

        show_other(run.environment, file, _trouble(run))
        return
    from kwire_cli.cli.log_files import ShownFile as Files, show_log_file

    _begin_file(run, file)
    files = Files(
        run.environment, run.fmt, label_of(run), None if run.options["full"] else HEX_ROWS, run.left, run.columns
    )
    run.odd = show_log_file(files, file) or run.odd
    run.left, run.columns, run.headed = files.left, files.headed, False


def _show_like_kafka(run: Run, file: SegmentFile, source: Source) -> None:
    from kwire_cli.cli.log_files import show_log

    items = ((item, records if run.deep else None, notes) for item, records, notes in _chosen(run, file, source))
    hide = run.redaction.record if run.deep else None
    whole = run.selection.everything and run.left is None
    run.found = True
    run.odd = (
        show_log(run.environment, file, items, len(source.data), hide, _trouble(run), deep=run.deep, whole=whole)
        or run.odd
    )


def _trouble(run: Run) -> Any:
    from kwire_cli.view.kafka_tool import Trouble

    run.trouble = run.trouble or Trouble()
    return run.trouble


def _show_quickly(run: Run, file: SegmentFile, source: Source, reader: Reader) -> int:
    """The first batches of a file, up to one that is not as nearly all are; how many they are."""
    from kwire_cli.view.batch_json import Lines, quick_lines

    lines = Lines(label_of(run), run.redaction.record if run.deep else None, deep=run.deep)
    for text in quick_lines(source, reader, lines):
        run.environment.write_text(text)
        run.progress.tell(file.label, reader.at, len(source.data))
    run.found = run.found or lines.batches > 0
    run.chosen += lines.batches
    run.odd = run.odd or lines.odd
    return lines.batches


def _chosen(run: Run, file: SegmentFile, source: Source, reader: Reader | None = None) -> Iterator[Shown]:
    """The batches and gaps that are wanted, with their wanted records where there is a choice among them, or where they
    are shown in whole.
    """
    from kwire_cli.records.batch import PADDING
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.reading import Reader
    from kwire_cli.source.kafka.columns import BatchRow, record_rows

    selection, deep = run.selection, run.deep
    stream = deep and run.fmt in {"jsonl", "like-kafka"} and selection.everything and run.left is None
    for number, item in enumerate((reader or Reader(source)).items()):
        if not number & 63:
            run.progress.tell(file.label, item.position, len(source.data))
        if run.left == 0:
            return
        notes: list[Anomaly] = []
        if isinstance(item, Gap):
            if selection.everything or (selection.filter and selection.filter.matches(BatchRow(item, deep=False))):
                run.chosen += 1
                yield Shown(item, [*enumerate(item.batch.records(notes))] if item.batch and deep else None, notes)
            else:
                run.odd = run.odd or item.code != PADDING
                run.environment.note(
                    f"kwire: {file.label}: {item.size} bytes at {item.position} are no batch ({item.code})"
                )
            continue
        run.seen += 1
        if not selection.may_have(item):
            continue
        if selection.filter and not selection.filter.deep and not selection.filter.matches(BatchRow(item, deep=False)):
            continue
        records = None
        if (deep and not stream) or (selection.by_content or selection.times[1] is not None):
            records = [
                (at, record)
                for at, record in enumerate(item.records(notes))
                if selection.wants(_as_shown(run, item, record))
            ]
            if selection.filter and selection.filter.deep:
                wanted = [selection.filter.matches(row) for row in record_rows(item, run.redaction.record)]
                records = [(at, record) for at, record in records if wanted[at]]
            if not records and not selection.everything:
                continue
            if deep and run.left is not None:
                records = records[: run.left]
        if run.left is not None:
            run.left -= len(records) if deep and records is not None else 1
        run.chosen += 1
        yield Shown(item, records, notes)


def _as_shown(run: Run, batch: Batch, record: Record) -> Record:
    """A record as it is shown, so that no choice tells what is redacted in it."""
    if run.redaction.record is None or not run.selection.by_content:
        return record
    return run.redaction.record.without_secrets(batch, record)
