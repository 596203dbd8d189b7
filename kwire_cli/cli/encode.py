"""`kwire encode`: encode the JSON output of decode and dump to bytes.

An input has several JSON documents. Each one is a message, which is encoded separately. With --as-records, all batches
of an input become one record set. A bare body is first completed to the document that decode prints.
"""

from __future__ import annotations

import base64
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.analysis.costs.carrying import with_defaults
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_api, complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.inputs import contents, documents
from kwire_cli.cli.options import (
    Definitions,
    Output,
    kind_option,
    message_option,
    topic_option,
    version_option,
)
from kwire_cli.cli.typed_options import argument, flag, given, option, refuse, takes
from kwire_cli.errors import FIELD_MISSING, EncodeError, InputError
from kwire_cli.message.encode import encode_document, encode_spec
from kwire_cli.records.formats import CHOICES
from kwire_cli.records.writing import with_new_checksums, without_gaps, write
from kwire_cli.source.opening import not_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

FORMS = ("hex", "raw", "base64")
EXAMPLES = (
    ("kwire encode --message HeartbeatRequest --message-version 4 heartbeat.json", "JSON as a body"),
    (
        """kwire encode --fill-defaults -m HeartbeatRequest --message-version 4 '{"groupId":"orders"}'""",
        "the other fields at their defaults",
    ),
    ("kwire decode --format jsonl produce.hex | kwire encode", "what decode printed, as bytes"),
    ("""kwire encode --as-records '{"records":[{"value":{"text":"hello"}}]}'""", "a record batch"),
)


class Options(Output, Definitions):
    """Options of `kwire encode`."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    message: str | None = message_option("Read the JSON as the body of this message (with --message-version).")
    version: int | None = version_option("Set the version of the message or api.", type=int)
    api: str | None = option(
        "--api",
        section="Input",
        metavar="NAME|KEY",
        shell_complete=complete_api,
        help="Read the JSON as this api's body, and write a frame.",
    )
    kind: str | None = kind_option("Write a request or a response (with --api).")
    fill_defaults: bool = flag(
        "--fill-defaults", section="Input", help="Write missing fields of a message at their defaults."
    )
    records: bool = flag(
        "--as-records",
        section="Input",
        help="Read the JSON as batches, as dump --deep prints them.",
    )
    record_format: str | None = option(
        "--record-format",
        section="Output",
        rare=True,
        type=click.Choice(CHOICES),
        help="Set the record format; auto goes by the magic of each batch.",
    )
    as_topic: str | None = topic_option(
        "Name the internal topic of decoded keys and values (with --as-records).", rare=True
    )
    without_gaps: bool = flag(
        "--without-gaps", section="Output", rare=True, help="Skip gaps, bytes that are no batch (with --as-records)."
    )
    new_checksums: bool = flag(
        "--new-checksums",
        section="Output",
        rare=True,
        help="Replace wrong checksums of intact batches (with --as-records).",
    )
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(FORMS),
        help="Set the form in which bytes are written.  [default: hex; raw in a .bin or .raw file]",
    )

    @property
    def form(self) -> str:
        """The form in which bytes are written, from --format or the suffix of the file."""
        return self.fmt or self.suffix_among(FORMS, bin="raw") or "hex"


@click.command(name="encode", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Encode JSON to the bytes that Kafka would write.

    INPUT is files, - for standard input, or the JSON itself: documents as decode prints them (json or jsonl).
    A bare body needs --message and --message-version. To write a body as a whole frame, give --api,
    --message-version and --kind. With --as-records, the JSON is the batches of a record set.
    """
    _check(options)
    done = False
    encode = _encode_record_set if options.records else _encode_messages
    write = WRITERS[options.form]
    for data, name in contents(environment, options.source):
        with not_files(options.source if name is None else ()):
            rest = documents(data, name)
            values = chain(list(islice(rest, 1)), rest)
        for encoded in encode(options, values, name):
            write(environment, encoded)
            done = True
    if not done:
        raise InputError("no JSON to encode")
    return Exit.DONE


def _encode_messages(options: Options, values: Iterable[Any], name: str | None) -> Iterator[bytes]:
    """Yield the bytes of each document. Raise InputError for one that cannot be encoded."""
    for number, value in enumerate(values, 1):
        document = _complete_document(value, options)
        encode = _encode_with_defaults if options.fill_defaults else encode_spec
        try:
            data = encode_document(options.catalog, document, encode)
        except (EncodeError, InputError) as error:
            missing = isinstance(error, EncodeError) and error.reason == FIELD_MISSING and not options.fill_defaults
            hint = "; --fill-defaults writes missing fields of a message at their defaults" if missing else ""
            raise InputError(f"{name or 'input'}, document {number}: {error}{hint}") from None
        yield data


def _encode_with_defaults(spec: MessageSpec, value: Any, version: int) -> bytes:
    return encode_spec(spec, with_defaults(spec, value, version), version)


def _check(options: Options) -> None:
    if not options.records:
        refuse(options, ("record_format", "as_topic", "without_gaps", "new_checksums"), "needs --as-records")
        if options.message:
            refuse(options, ("api", "kind"), "does not go with --message, a body alone")
        if not options.api:
            refuse(options, ("kind",), "needs --api")
        if not options.api and not options.message:
            refuse(options, ("version",), "needs --message or --api: a document of decode has its own")
        return
    for text in given(options, "message", "version", "api", "kind", "fill_defaults"):
        raise click.UsageError(f"--as-records and {text} exclude each other")


def _encode_record_set(options: Options, values: Iterable[Any], name: str | None) -> Iterator[bytes]:
    """Yield the batches of one input as one record set, unless there are no batches.

    Raise InputError for batches that cannot be encoded.
    """
    items: list[Any] = []
    for value in values:
        items += value if isinstance(value, list) else [value]
    if not items:
        return
    chosen: Iterable[Any] = without_gaps(items) if options.without_gaps else items
    if options.new_checksums:
        chosen = with_new_checksums(chosen)
    try:
        data = write(chosen, form=options.record_format or "auto", topic=options.as_topic, catalog=options.catalog)
    except EncodeError as error:
        raise InputError(f"{name or 'input'}: {error}") from None
    yield data


def _complete_document(value: Any, options: Options) -> Any:
    """Return the document that decode prints for a bare body. Other documents are returned unchanged."""
    if options.message:
        if options.version is None:
            raise click.UsageError("--message needs --message-version")
        return {"message": options.message, "version": options.version, "body": value}
    if not options.api:
        return value
    if options.version is None or not options.kind:
        raise click.UsageError("--api needs --message-version, and --kind request or --kind response")
    header: dict[str, Any] = {"correlationId": 0}
    if options.kind == "request" and _has_client_id(options.catalog, options.api, options.version):
        header["clientId"] = "kwire"
    return {
        "kind": options.kind,
        "api": options.api,
        "apiVersion": options.version,
        "header": header,
        "body": value,
    }


def _has_client_id(catalog: Catalog, api: str, version: int) -> bool:
    """Return whether the header of a request has a client id. Only the header of ControlledShutdown 0 lacks it."""
    return catalog.header_version("request", catalog.api(api).key, version) > 0


def _write_raw(environment: Environment, data: bytes) -> None:
    if environment.to_terminal:
        raise click.UsageError("a terminal may act on raw bytes: send them to a file, or use --format hex")
    environment.write_bytes(data)


WRITERS: dict[str, Callable[[Environment, bytes], None]] = {
    "hex": lambda environment, data: environment.write(data.hex()),
    "raw": _write_raw,
    "base64": lambda environment, data: environment.write(base64.b64encode(data).decode("ascii")),
}
"""The writers of bytes, by format."""
