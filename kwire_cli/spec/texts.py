"""Kafka's own texts about the fields of messages.

Kafka's jars and sources have them, kwire has not. `kwire spec docs` remembers jars and folders in a file of the user's
configuration folder, with a path in each line. The text of a field is looked up there by the name of the message and
the path of the field. The layout is always taken from the definition in use. A path that cannot be read is a remark
of the command, because its results are complete without the texts.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import REMARKS, InputError, KwireError
from kwire_cli.spec.files import jar_texts, read_text
from kwire_cli.spec.model import fields_by_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cli.spec.model import MessageSpec


def config_file() -> Path:
    """Return the file with the remembered paths, in `XDG_CONFIG_HOME` or `~/.config`."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - no error without a home
    return Path(folder, "kwire", "docs")


@cache
def remembered() -> tuple[str, ...]:
    """Return the remembered jars and folders."""
    try:
        return tuple(filter(None, os.fsdecode(config_file().read_bytes()).split("\n")))
    except OSError:
        return ()


def remember(paths: Sequence[str]) -> None:
    """Remember these jars and folders in place of earlier ones. Without paths, remove the file.

    Raises InputError if the file cannot be written.
    """
    file = config_file()
    try:
        if paths:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(os.fsencode("".join(f"{Path(path).resolve()}\n" for path in paths)))
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None
    remembered.cache_clear()


def texts_of(spec: MessageSpec) -> Mapping[str, str]:
    """Return the texts about the fields of a message, by path as in `fields_by_path`.

    A definition without texts gets the texts in the remembered jars and folders.
    """
    return _own_texts(spec) or _remembered_texts(spec.name, remembered())


@lru_cache(maxsize=64)
def _own_texts(spec: MessageSpec) -> Mapping[str, str]:
    return {path: field.about for path, field in fields_by_path(spec) if field.about}


@lru_cache(maxsize=64)
def _remembered_texts(name: str, sources: tuple[str, ...]) -> Mapping[str, str]:
    from kwire_cli.spec.overlay import load_text  # noqa: PLC0415 - only those who have Kafka's texts need the parser

    for source in sources:
        try:
            if text := _definition_text(source, name):
                return _own_texts(load_text(text, source))
        except KwireError as error:
            REMARKS[f"no texts of Kafka: {error}; kwire spec docs sets another path"] = None
    return {}


def _definition_text(source: str, name: str) -> str | None:
    """Return the definition of a message in a jar or folder. Raise InputError if the path cannot be read."""
    if Path(source).is_dir():
        file = next(iter(sorted(Path(source).rglob(f"{name}.json"))), None)
        return read_text(file) if file else None
    return next((text for place, text in jar_texts(Path(source)) if place.endswith(f"/{name}.json")), None)
