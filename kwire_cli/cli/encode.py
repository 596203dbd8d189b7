"""`kwire encode`: what decode prints, back to bytes."""

from __future__ import annotations

import base64
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_api, complete_file, complete_message, complete_version
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.inputs import contents, documents, no_file
from kwire_cli.cli.old_options import with_output, with_overlaid_catalog
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.message.encode import encode_document
from kwire_cli.records.formats import CHOICES
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.spec.catalog import Catalog


@click.command(name="encode")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--message",
    "-m",
    metavar="NAME",
    shell_complete=complete_message,
    help="Read the JSON as the body of this message (with --version).",
)
@click.option(
    "--version",
    "-n",
    type=int,
    metavar="N",
    shell_complete=complete_version,
    help="Set the version of the message or api.",
)
@click.option(
    "--api",
    metavar="NAME|KEY",
    shell_complete=complete_api,
    help="Read the JSON as the body of this api, and write a frame.",
)
@click.option("--request", "kind", flag_value="request", help="Write a request (with --api).")
@click.option("--response", "kind", flag_value="response", help="Write a response (with --api).")
@click.option(
    "--correlation-id", type=int, default=0, show_default=True, help="Set the header's correlation id (with --api)."
)
@click.option(
    "--client-id", default="kwire", show_default=True, help="Set the header's client id; empty is null (with --api)."
)
@click.option("--records", is_flag=True, help="Read the JSON as batches, as dump --deep prints them.")
@click.option(
    "--record-format", type=click.Choice(CHOICES), help="Set the record format; auto goes by the magic of each batch."
)
@click.option("--as-topic", metavar="NAME", help="Name the internal topic of decoded keys and values (with --records).")
@click.option("--without-gaps", is_flag=True, help="Skip gaps, bytes that are no batch (with --records).")
@click.option("--new-checksums", is_flag=True, help="Replace wrong checksums of intact batches (with --records).")
@click.option(
    "--size/--no-size",
    "prefixed",
    default=None,
    help="Write a size prefix before each frame, or none.  [default: as decoded]",
)
@click.option("--keep-going", is_flag=True, help="Skip documents that cannot be encoded, and count them.")
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(["hex", "raw", "base64"]),
    default="hex",
    show_default=True,
    help="Set the form in which bytes are written.",
)
@with_overlaid_catalog
@with_output
def command(environment: Environment, catalog: Catalog, source: tuple[str, ...], fmt: str, **options: Any) -> int:
    """Encode JSON to the bytes that Kafka would write.

    INPUT is files, - for standard input, or the JSON itself: one or many documents as decode prints them (json
    or jsonl). A bare body needs --message and --version, or --api, --version and --request or --response to
    become a whole frame. With --records the JSON is the batches of a record set.
    """
    _check(options)
    done, refused = 0, 0
    for data, name in contents(environment, source, "the JSON itself"):
        with no_file(source if name is None else ()):
            rest = documents(data, name, keep_going=options["keep_going"])
            values = chain([*islice(rest, 1)], rest)
        encode = _record_set if options["records"] else _messages
        for result in encode(catalog, values, name, options):
            if isinstance(result, bytes):
                _write(environment, result, fmt)
                done += 1
            elif options["keep_going"]:
                environment.note(f"kwire: {result}")
                refused += 1
            else:
                raise result
    if refused:
        environment.note(
            f"kwire: {counted(refused, 'document')} could not be encoded, {done} {'was' if done == 1 else 'were'}"
        )
        return Exit.FAILED
    if not done:
        raise InputError("no JSON to encode")
    return Exit.DONE


def _messages(
    catalog: Catalog, values: Iterable[Any], name: str | None, options: dict[str, Any]
) -> Iterator[bytes | InputError]:
    """Yield the bytes of each document, or the error that says where and why it cannot be encoded."""
    for number, value in enumerate(values, 1):
        if isinstance(value, InputError):
            yield value
            continue
        document = _document(value, options)
        if options["prefixed"] is not None and "message" not in document:
            document = document | {"prefixed": options["prefixed"]}
        try:
            yield encode_document(catalog, document)
        except (EncodeError, InputError) as error:
            yield InputError(f"{name or 'input'}, document {number}: {error}")


def _check(options: dict[str, Any]) -> None:
    for option in ("message", "version", "api", "kind"):
        if options["records"] and options[option] is not None:
            raise click.UsageError(
                f"--records and --{option if option != 'kind' else options[option]} exclude each other"
            )
    if options["records"] and options["keep_going"]:
        raise click.UsageError("--keep-going is for documents, and --records writes one record set; try --without-gaps")
    for option in ("record_format", "as_topic", "without_gaps", "new_checksums"):
        if options[option] not in {None, False} and not options["records"]:
            raise click.UsageError(f"--{option.replace('_', '-')} needs --records")


def _record_set(
    catalog: Catalog, values: Iterable[Any], name: str | None, options: dict[str, Any]
) -> Iterator[bytes | InputError]:
    """Yield the batches of one text as one record set, or the error that says why they cannot be encoded; nothing if
    there are no batches.
    """
    from kwire_cli.records.writing import with_new_checksums, without_gaps, write

    items: list[Any] = []
    for value in values:
        items += value if isinstance(value, list) else [value]
    if not items:
        return
    chosen: Iterable[Any] = without_gaps(items) if options["without_gaps"] else items
    if options["new_checksums"]:
        chosen = with_new_checksums(chosen)
    try:
        yield write(chosen, form=options["record_format"] or "auto", topic=options["as_topic"], catalog=catalog)
    except EncodeError as error:
        yield InputError(f"{name or 'input'}: {error}")


def _document(value: Any, options: dict[str, Any]) -> Any:
    """A body alone as the document that decode would print for it."""
    if options["message"]:
        if options["version"] is None:
            raise click.UsageError("--message needs --version")
        return {"message": options["message"], "version": options["version"], "body": value}
    if not options["api"]:
        return value
    if options["version"] is None or not options["kind"]:
        raise click.UsageError("--api needs --version, and --request or --response")
    header: dict[str, Any] = {"correlationId": options["correlation_id"]}
    if options["kind"] == "request":
        header["clientId"] = options["client_id"] or None
    return {
        "kind": options["kind"],
        "api": options["api"],
        "apiVersion": options["version"],
        "header": header,
        "body": value,
    }


def _write(environment: Environment, data: bytes, fmt: str) -> None:
    if fmt == "raw":
        if environment.to_terminal:
            raise click.UsageError("a terminal may act on raw bytes: send them to a file, or use --format hex")
        environment.write_bytes(data)
    else:
        environment.write(data.hex() if fmt == "hex" else base64.b64encode(data).decode("ascii"))
