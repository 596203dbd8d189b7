"""Topics of `kwire explain`: types with values, headers, and codes of errors, anomalies and findings.

Each topic is a generator. It finds the subject that the words after the topic name, and yields its explanations from
`view.explain.topics`. TOPICS has all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import click

from kwire_cli.cli.completers import (
    complete_anomaly,
    complete_api,
    complete_error,
    complete_finding,
    complete_type,
    rules_by_code,
)
from kwire_cli.cli.spec import matching_codes
from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import EncodeError, InputError, close_to, did_you_mean
from kwire_cli.message.roles import RecordsAs
from kwire_cli.view.explain import topics
from kwire_cli.view.explain.model import Event, Look, Remark

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_cli.cli.completers import Completer
    from kwire_cli.spec.catalog import Api, Catalog

Words = tuple[str, ...]
Explanations = Iterator[Iterable[Event]]


class Topic(NamedTuple):
    """A topic: the words that it takes, a description for help, and the generator of its explanations.

    `most` is the maximum number of words. Words in brackets in `form` can be omitted.
    """

    form: str
    about: str
    explain: Callable[[Catalog, Words], Explanations]
    complete: Completer | None = None
    most: int | None = None

    def check(self, name: str, words: Words) -> None:
        """Raise UsageError if there are too few or too many words."""
        is_missing = not words and not self.form.startswith("[")
        if is_missing or (self.most is not None and len(words) > self.most):
            raise click.UsageError(f"this topic is used as: kwire explain {name} {self.form}")


def _varint(_: Catalog, words: Words) -> Explanations:
    try:
        number = int(words[0].replace("_", ""))
    except ValueError:
        raise InputError(f"{words[0]!a} is not a number; kwire explain type varint 0xac02 explains bytes") from None
    for name in ("unsigned-varint", "varint" if -(1 << 31) <= number < 1 << 31 else "varlong"):
        try:
            if name == "unsigned-varint" and 0 <= number < 1 << 32:
                events = [*topics.explain_unsigned(number)]
            else:
                events = [*topics.explain_value(name, topics.TYPES[name].decl, number)]
        except EncodeError as unfit:
            events = [Remark(f"{name}: {unfit.reason}")]
        yield events


def _type(_: Catalog, words: Words) -> Explanations:
    types = topics.TYPES
    if not words:
        for type_name, kind in types.items():
            yield topics.explain_value(type_name, kind.decl, kind.example)
        return
    name, value = (*words, None)[:2]
    key = str(name).lower().replace("_", "-")
    if key not in types:
        close = did_you_mean(get_close_matches(key, types))
        raise InputError(f"{name!a} is not a type that can be explained{close}: {', '.join(types)}")
    chosen = types[key]
    if value is not None and value.startswith("0x"):
        yield topics.explain_bytes(key, chosen.decl, _parse_hex(value))
    else:
        yield topics.explain_value(key, chosen.decl, topics.value_of(chosen, value))


def _parse_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise InputError(f"{text!a} is not bytes in hex") from None


def _header(catalog: Catalog, words: Words) -> Explanations:
    if words:
        look = Look(every=False, reading=RecordsAs(catalog))
        api, version = _find_version(catalog, words)
        yield topics.explain_header(catalog, api, version, look)
    else:
        yield topics.explain_headers()


def _find_version(catalog: Catalog, words: Words) -> tuple[Api, int]:
    """Return the api and the version that `words` name, by default the newest version."""
    api = catalog.api(words[0])
    versions = catalog.entry(api.request or api.response or "").valid_versions
    if not versions:
        raise InputError(f"{api.name} has no valid version any more")
    if len(words) == 1:
        return api, versions.high
    version = _parse_number(words[1])
    if version not in versions:
        raise InputError(f"{api.name} has versions {versions}, not {words[1]}")
    return api, version


def _parse_number(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise InputError(f"{text!a} is not a whole number")
    return int(text)


def _error(catalog: Catalog, words: Words) -> Explanations:
    for row in matching_codes(catalog, words):
        yield topics.explain_error(row, catalog.error_meanings[row.name])


def _size(_: Catalog, words: Words) -> Explanations:
    for word in words:
        number = _parse_number(word)
        if number >= 1 << 31:
            raise InputError(f"{number} is no size of a frame, which is an int32")
        yield topics.explain_size(number)


def _anomaly(_: Catalog, words: Words) -> Explanations:
    codes = [_check_code(code, MEANING, "an anomaly code", "kwire explain anomaly") for code in words]
    yield chain.from_iterable(map(topics.explain_anomaly, codes or MEANING))


def _finding(_: Catalog, words: Words) -> Explanations:
    rules = rules_by_code()
    codes = [_check_code(code, rules, "a finding", "kwire explain finding") for code in words]
    yield chain.from_iterable(topics.explain_finding(rules[code]) for code in codes or rules)


def _check_code(text: str, codes: Collection[str], what: str, listing: str) -> str:
    """Return the code for `text`, which can be in any case and have `-` for `_`. Raise InputError if it is unknown."""
    code = text.upper().replace("-", "_")
    if code not in codes:
        raise InputError(f"{text!a} is not {what}{did_you_mean(close_to(code, codes)) or f'; {listing} lists all'}")
    return code


TOPICS = {
    "varint": Topic("NUMBER", "a number (300, -3) as varints", _varint, most=1),
    "type": Topic("[NAME [VALUE]]", "a type of the protocol, with a value in JSON or hex", _type, complete_type, 2),
    "header": Topic("[API [VERSION]]", "headers of requests and responses, and why", _header, complete_api, 2),
    "error": Topic("CODE...", "error codes by number or name: meaning, causes, reactions", _error, complete_error),
    "size": Topic("SIZE...", "an invalid size in a log: 1195725856 is HTTP", _size),
    "anomaly": Topic("[CODE]...", "codes of anomalous or malformed bytes", _anomaly, complete_anomaly),
    "finding": Topic("[CODE]...", "findings of kwire diagnose", _finding, complete_finding),
}
"""The topics by name, in the order of the help."""
