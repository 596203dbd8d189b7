"""Values that `kwire compare` generates instead of reading an input: --make.

With --message, a message is generated, and --make has the sizes of its arrays and strings. Without --message, records
are generated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.costs.forms import highest
from kwire_cli.analysis.costs.generated import ROLES, USUAL, Wanted, counts_for, generate
from kwire_cli.cli.typed_options import Printing, option
from kwire_cli.message.decoded import build, decode_spec
from kwire_cli.spec.model import check_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog

_BYTES = range((100 << 20) + 1)
_RECORDS = {
    "records": range(1, 10_000_001),
    "key": _BYTES,
    "value": _BYTES,
    "headers": range(10_001),
    "header-size": _BYTES,
}
"""The settings of generated records, with their numbers."""
_NULLABLE = ("key", "value")
_EXAMPLE = "partitions=10,replicas=3"


def _settings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str] | None:
    """Parse the lists in --make. A part without a name continues the value before it. This is a callback for click."""
    settings: dict[str, str] = {}
    for text in texts:
        name = ""
        for part in text.split(","):
            left, equals, right = part.partition("=")
            if equals and left.strip():
                name = left.strip().removesuffix("[]")
                settings[name] = right
            elif name and not equals:
                settings[name] += f",{part}"
            else:
                raise click.BadParameter(f"{text!r} is not a list of NAME=N, such as {_EXAMPLE}", ctx, param)
    return settings or None


class Generated(Printing):
    """Options for generated values: --make."""

    SECTION: ClassVar[str] = "Input"

    made: Mapping[str, str] | None = option(
        "--make",
        default=None,
        multiple=True,
        metavar="NAME=N,...",
        callback=_settings,
        help=f"Generate arrays of these sizes ({_EXAMPLE}), or records=1000,key=16,value=100.",
    )


def generated_message(catalog: Catalog, name: str, version: int | None, made: Mapping[str, str]) -> Decoded:
    """Return a generated message. Its arrays and strings have the sizes in `made`, by role or path.

    Raises UsageError for a malformed size, and InputError for an unknown message, version, role or path.
    """
    spec = catalog.message(name)
    check_version(spec, version)
    version = highest(spec) if version is None else version
    roles: dict[str, int] = {}
    paths: dict[str, int] = {}
    for key, text in made.items():
        if not (text.isascii() and text.isdecimal()):
            raise click.UsageError(f"--make {key}={text}: {text!r} is not a number")
        sizes = roles if key in USUAL else paths
        sizes[key] = int(text)
    value = generate(spec, version, counts_for(spec, version, roles, paths))
    return decode_spec(spec, build(spec, value, version), version)


def generated_records(made: Mapping[str, str]) -> Wanted:
    """Return the number and the sizes of generated records. Raise UsageError for an unknown or missing setting."""
    for name in made:
        if name not in _RECORDS:
            raise click.UsageError(
                f"--make {name}: records have {', '.join(_RECORDS)}; with --message, there are also {ROLES}"
            )
    if "records" not in made:
        raise click.UsageError("--make needs records=N, or a --message whose arrays have these sizes")
    names = tuple(name.strip() for name in made.get("headers", "0").split(","))
    if names[0].isdecimal() and len(names) == 1:
        count = _number(made, "headers") or 0
        names = tuple(f"header-{number}" for number in range(1, count + 1))
    return Wanted(
        _number(made, "records") or 0,
        _number(made, "key", 16),
        _number(made, "value", 100),
        names,
        _number(made, "header-size", 16) or 0,
    )


def _number(made: Mapping[str, str], name: str, default: int = 0) -> int | None:
    text = made.get(name, str(default)).strip()
    if text == "null" and name in _NULLABLE:
        return None
    known = _RECORDS[name]
    if not (text.isascii() and text.isdecimal()) or int(text[:12]) not in known:
        or_null = ", or null" if name in _NULLABLE else ""
        raise click.UsageError(f"--make {name}={text}: {name} takes {known[0]} to {known[-1]}{or_null}")
    return int(text)
