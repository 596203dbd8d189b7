"""`kwire sanitize`: a capture or a segment that can be shown to anybody."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from kwire_cli.cli.completion import complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.old_options import PORT, with_catalog, with_output
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.sanitize.records import Fields
    from kwire_cli.spec.catalog import Catalog


@click.command(name="sanitize")
@click.argument("source", metavar="INPUT", shell_complete=complete_file)
@click.argument("target", metavar="OUTPUT", shell_complete=complete_file)
@click.option(
    "--key",
    metavar="TEXT",
    help="Derive replacements from this text; the same text gives the same ones.  [default: random]",
)
@click.option(
    "--as-topic", "topic", metavar="NAME", help="Name the topic of a segment.  [default: taken from the folder's name]"
)
@click.option(
    "--port", type=PORT, metavar="N", help="Name the broker's port (captures).  [default: recognised from the bytes]"
)
@click.option("--force", is_flag=True, help="Overwrite OUTPUT if it exists; a folder may hold no other files.")
@with_catalog
@with_output
def command(
    environment: Environment,
    catalog: Catalog,
    source: str,
    target: str,
    key: str | None,
    topic: str | None,
    port: int | None,
    *,
    force: bool,
) -> int:
    """Rewrite a packet capture, a segment or a log directory so that it can be shared.

    Names, keys, values, headers, secrets and addresses are replaced: equal ones by equal ones, at the same
    length, so that all sizes, offsets, times and errors are kept. Checksums are recomputed. Bytes that cannot
    be understood, TLS included, become blank.
    """
    from kwire_cli.sanitize.records import Fields
    from kwire_cli.sanitize.replacing import Replacement

    file, out = Path(source), Path(target)
    if not file.exists():
        raise InputError("there is no such file or folder", file=source)
    if out.exists() and out.samefile(file):
        raise InputError("this is the input itself", file=target)
    if out.exists() and file.is_dir() != out.is_dir():
        raise InputError(f"is a {_word(out)}, and {source} is a {_word(file)}: name a {_word(file)}", file=target)
    if out.exists() and not force:
        raise InputError("is there already; --force writes over it", file=target)
    fields = Fields(catalog, Replacement(key.encode() if key is not None else None))
    if file.is_dir():
        return _folder(environment, fields, file, out)
    from kwire_cli.source.kinds import Kind, begins_as

    if begins_as(source) is Kind.CAPTURE:
        _capture(environment, fields, source, out, port)
        return Exit.DONE
    from kwire_cli.cli.segments import holds_batches

    if not holds_batches(source):
        raise InputError(
            "is neither a packet capture nor a segment, by what it begins with; a segment's name ends with .log",
            file=source,
        )
    _segment(fields, file, out, topic)
    _tell(environment, fields.counts)
    return Exit.DONE


def _word(path: Path) -> str:
    return "folder" if path.is_dir() else "file"


def _capture(environment: Environment, fields: Fields, source: str, out: Path, port: int | None) -> None:
    from kwire_cli.cli.environment import Progress
    from kwire_cli.sanitize.captures import Sanitizer
    from kwire_cli.source.packets.files import packets
    from kwire_cli.view.lines import counted

    progress = Progress(environment)
    with _written(out) as file, Path(source).open("rb") as data, contextlib.ExitStack() as ending:
        ending.callback(progress.done)
        size = Path(source).stat().st_size
        done = Sanitizer(fields, file, port=port).run(packets(data), lambda: progress.tell(source, data.tell(), size))
    for notice in done.notices:
        environment.note(f"kwire: {source}: {notice.text}")
    environment.note(f"kwire: {out}: {counted(done.packets, 'packet')} with {counted(done.frames, 'frame')} of Kafka")
    _tell(environment, done.counts)


def _segment(fields: Fields, file: Path, out: Path, topic: str | None) -> None:
    from kwire_cli.sanitize.records import rewritten
    from kwire_cli.source.logs.files import topic_at

    with _written(out) as target:
        for piece in rewritten(file, topic or topic_at(file), fields):
            target.write(piece)


def _folder(environment: Environment, fields: Fields, folder: Path, out: Path) -> Exit:
    from kwire_cli.sanitize.records import NUMBERS_ALONE, tasks
    from kwire_cli.source.logs.files import nothing_in
    from kwire_cli.stores.opening import tree

    files = (file for file in tree(folder).files() if isinstance(file, Path))
    found = list(tasks(folder, files, fields))
    if all(task.left_out for task in found):
        raise nothing_in(folder, "segment and no snapshot")
    if out.resolve().is_relative_to(folder.resolve()):
        raise InputError("this is within the folder that is read", file=str(out))
    _refuse_others(out, {out / task.path for task in found if not task.left_out})
    for task in found:
        target = out / task.path
        if task.left_out:
            environment.note(f"kwire: {task.file}: left out: what it holds is not known to be harmless")
            continue
        with _errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        if task.kind in NUMBERS_ALONE:
            with _errors(target):
                shutil.copyfile(task.file, target)
        else:
            _segment(fields, task.file, target, task.topic)
    _tell(environment, fields.counts)
    return Exit.DONE


def _refuse_others(out: Path, targets: set[Path]) -> None:
    """Raise InputError if a folder holds files other than `targets`: the result would be mixed with what is not
    sanitized.
    """
    strays = sorted(path for path in out.rglob("*") if path not in targets and (path.is_symlink() or not path.is_dir()))
    if strays:
        there = f"{strays[0].relative_to(out)}{f' and {len(strays) - 1} more' if len(strays) > 1 else ''}"
        raise InputError(
            f"holds other files, which are not sanitized: {there}; name another folder, or empty this one",
            file=str(out),
        )


@contextlib.contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=str(path)) from None


@contextlib.contextmanager
def _written(out: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of `out` once all is well, and is no more where it is not."""
    part = out.with_name(f".{secrets.token_hex(16)}.part")
    with _errors(out):
        file = part.open(
            "x+b"
        )  # never one that is there; and with the permissions that any new file has, as tempfile's have not
    try:
        with file, _errors(out):
            yield file
        with _errors(out):
            part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _tell(environment: Environment, counts: Mapping[str, int]) -> None:
    for what, number in sorted(counts.items()):
        environment.note(f"kwire: not as before: {number} {_one(what) if number == 1 else what}")


def _one(what: str) -> str:
    """The same of one: `frame that is not known` of `frames that are not known`; what stands behind `whose` and `in` is
    of another.
    """
    for many, one in (("batches", "batch"), ("frames", "frame"), ("bytes", "byte"), ("that are", "that is")):
        what = what.replace(many, one, 1)
    return what
