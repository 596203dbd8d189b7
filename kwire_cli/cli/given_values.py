"""The values of one message in JSON form, as `--values` gives them to compare and diff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cli.encode import documents
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.message.batches import with_bytes

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


class Values(NamedTuple):
    """A message's body, and which message and version it is of where that is said. `name` is that of the file, None for the argument itself."""

    body: dict[str, Any]
    message: str | None
    version: int | None
    name: str | None

    def written(self, *specs: MessageSpec) -> dict[str, Any]:
        """The body with bytes in place of batches where one of the definitions has records; InputError for batches that cannot be written."""
        body = self.body
        try:
            for spec in specs:
                body = with_bytes(spec, body)
        except EncodeError as error:
            raise InputError(str(error), file=self.name) from None
        return body


def read_values(environment: Environment, catalog: Catalog, argument: str) -> Values:
    """What decode prints of a message, or its body alone: in a file, on standard input (-), or as the argument itself.

    InputError for what cannot be read or is not one JSON object.
    """
    data, name = _text(environment, argument)
    values = [*documents(data, name)]
    if len(values) != 1 or not isinstance(values[0], dict):
        raise InputError("one JSON object is the values of a message" + (f", and there are {len(values)}" if len(values) != 1 else ""), file=name)
    [value] = values
    if not isinstance(value.get("body"), dict):
        return Values(value, None, None, name)
    message, version = value.get("message"), value.get("version")
    if isinstance(value.get("api"), str) and value.get("kind") in {"request", "response"}:
        api = catalog.api(value["api"])
        message, version = (api.request if value["kind"] == "request" else api.response), value.get("apiVersion")
    return Values(value["body"], message if isinstance(message, str) else None, version if type(version) is int else None, name)


def _text(environment: Environment, argument: str) -> tuple[bytes, str | None]:
    if argument == "-":
        return environment.stdin.read(), "standard input"
    if argument.lstrip().startswith("{"):
        return argument.encode("utf-8", "surrogateescape"), None
    try:
        return Path(argument).read_bytes(), argument
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=argument) from None
