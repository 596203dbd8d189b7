"""`kwire sanitize`: rewrite a capture, a segment or a folder so that it can be shared.

The results are written to a temporary file, which replaces the output only if all bytes were rewritten. In a log
directory, files with only numbers are copied, and files with unknown content are omitted. Notes list the parts that
were not preserved.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.options import PORT, Definitions, topic_option
from kwire_cli.cli.typed_options import argument, flag, option, takes
from kwire_cli.errors import InputError, counted
from kwire_cli.sanitize.captures import Sanitizer
from kwire_cli.sanitize.fields import Fields
from kwire_cli.sanitize.records import NUMBERS_ALONE, rewritten, tasks
from kwire_cli.sanitize.replacing import Replacement
from kwire_cli.source.kinds import Kind
from kwire_cli.source.logs.files import nothing_in, topic_at
from kwire_cli.source.opening import holds_batches
from kwire_cli.source.packets.files import packets
from kwire_cli.source.recognition import begins_as
from kwire_cli.stores.opening import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


EXAMPLES = (
    ("kwire sanitize incident.pcap ticket.pcap", "names, keys, values and secrets replaced"),
    ("kwire sanitize incident.pcap ticket.pcap --secret ours", "equal names in all files alike"),
    ("kwire sanitize orders-0 for-the-ticket", "a folder of a log directory"),
)


class Options(Definitions):
    """Options of `kwire sanitize`."""

    source: str = argument(metavar="INPUT", shell_complete=complete_file)
    target: str = argument(metavar="OUTPUT", shell_complete=complete_file)
    secret: str | None = option(
        "--secret",
        section="Output",
        metavar="TEXT",
        help="Derive replacements from this text; the same text gives the same ones.  [default: random]",
    )
    as_topic: str | None = topic_option("Name the topic of a segment.  [default: taken from the folder's name]")
    port: int | None = option(
        "--port",
        section="Input",
        type=PORT,
        metavar="N",
        help="Name the broker's port (captures).  [default: recognised from the bytes]",
    )
    force: bool = flag(
        "--force", section="Output", help="Overwrite OUTPUT if it exists; a folder may hold no other files."
    )


@click.command(name="sanitize", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Rewrite a packet capture, a segment or a log directory so that it can be shared.

    Names, keys, values, headers, secrets and addresses are replaced: equal ones by equal ones, at the same
    length, so that all sizes, offsets, times and errors are kept. Checksums are recomputed. Bytes that cannot
    be understood, TLS included, become blank.
    """
    source = options.source
    file = Path(source)
    out = Path(options.target)
    if not file.exists():
        raise InputError("there is no such file or folder", file=source)
    if out.exists() and out.samefile(file):
        raise InputError("this is the input itself", file=options.target)
    if out.exists() and file.is_dir() != out.is_dir():
        what = f"is a {_word(out)}, and {source} is a {_word(file)}: name a {_word(file)}"
        raise InputError(what, file=options.target)
    if out.exists() and not options.force:
        raise InputError("is there already; --force writes over it", file=options.target)
    fields = Fields(options.catalog, Replacement(options.secret.encode() if options.secret is not None else None))
    if file.is_dir():
        return _sanitize_folder(environment, fields, file, out)
    if begins_as(source) is Kind.CAPTURE:
        _sanitize_capture(environment, fields, source, out, options.port)
        return Exit.DONE
    if not holds_batches(source):
        raise InputError(
            "is neither a packet capture nor a segment, by what it begins with; a segment's name ends with .log",
            file=source,
        )
    _sanitize_segment(fields, file, out, options.as_topic)
    _tell(environment, fields.counts)
    return Exit.DONE


def _word(path: Path) -> str:
    return "folder" if path.is_dir() else "file"


def _sanitize_capture(environment: Environment, fields: Fields, source: str, out: Path, port: int | None) -> None:
    progress = environment.progress
    progress.expect((source,))
    with _replace_when_done(out) as file, Path(source).open("rb") as data, contextlib.ExitStack() as ending:
        ending.callback(progress.done)
        size = Path(source).stat().st_size
        done = Sanitizer(fields, file, port=port).run(packets(data), lambda: progress.tell(source, data.tell(), size))
    for notice in done.notices:
        environment.note(f"kwire: {source}: {notice.text}")
    environment.note(f"kwire: {out}: {counted(done.packets, 'packet')} with {counted(done.frames, 'frame')} of Kafka")
    _tell(environment, done.counts)


def _sanitize_segment(fields: Fields, file: Path, out: Path, topic: str | None) -> None:
    with _replace_when_done(out) as target:
        for piece in rewritten(file, topic or topic_at(file), fields):
            target.write(piece)


def _sanitize_folder(environment: Environment, fields: Fields, folder: Path, out: Path) -> Exit:
    files = (file for file in tree(folder).files() if isinstance(file, Path))
    to_do = list(tasks(folder, files, fields))
    if all(task.left_out for task in to_do):
        raise nothing_in(folder, "segment and no snapshot")
    if out.resolve().is_relative_to(folder.resolve()):
        raise InputError("this is within the folder that is read", file=str(out))
    _refuse_others(out, {out / task.path for task in to_do if not task.left_out})
    for task in to_do:
        target = out / task.path
        if task.left_out:
            environment.note(f"kwire: {task.file}: left out: what it holds is not known to be harmless")
            continue
        with _convert_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        if task.kind in NUMBERS_ALONE:
            with _convert_errors(target):
                shutil.copyfile(task.file, target)
        else:
            _sanitize_segment(fields, task.file, target, task.topic)
    _tell(environment, fields.counts)
    return Exit.DONE


def _refuse_others(out: Path, targets: set[Path]) -> None:
    """Raise InputError if a folder contains files other than `targets`, which would mix with the sanitized files."""
    strays = sorted(path for path in out.rglob("*") if path not in targets and (path.is_symlink() or not path.is_dir()))
    if strays:
        names = f"{strays[0].relative_to(out)}{f' and {len(strays) - 1} more' if len(strays) > 1 else ''}"
        raise InputError(
            f"holds other files, which are not sanitized: {names}; name another folder, or empty this one",
            file=str(out),
        )


@contextlib.contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=str(path)) from None


@contextlib.contextmanager
def _replace_when_done(out: Path) -> Iterator[IO[bytes]]:
    """Yield a new file that replaces `out` at the end of the context. After an error the file is removed."""
    part = out.with_name(f".{secrets.token_hex(16)}.part")
    with _convert_errors(out):
        file = part.open("x+b")  # always a new file; unlike a file of tempfile, it has the usual permissions
    try:
        with file, _convert_errors(out):
            yield file
        with _convert_errors(out):
            part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _tell(environment: Environment, counts: Mapping[str, int]) -> None:
    for what, number in sorted(counts.items()):
        environment.note(f"kwire: not as before: {what}: {number}")
