"""Records in which workers of Kafka Connect keep the configs of connectors and tasks, and the key of their session.

Keys are text, such as connector-NAME, task-NAME-0, commit-NAME and session-key. Values are JSON without schemas. A
worker stores passwords as they were given, so values of sensitive configs are masked. (KafkaConfigBackingStore)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import without_credentials
from kwire_cli.records.schemas import plain
from kwire_cli.records.schemas.model import UnfitError
from kwire_cli.records.schemas.record import ReadPart, ReadRecord
from kwire_cli.records.schemas.redact import FieldRedaction, hidden
from kwire_cli.spec.kafka import is_sensitive_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.records.schemas.model import Value

_SENSITIVE = re.compile(r"(?i)(?:^|[._-])(?:key|pass|pwd)$|token|authorization")
"""Names of sensitive configs of connectors, in addition to the names that `is_sensitive_config` knows."""
_SETTING = re.compile(r"([\w.-]+)\s*=")
"""A setting in the value of a config, as in JDBC's URLs: jdbc:sqlserver://host;password=VALUE."""
_USER = re.compile(r"[^\s:/@]+[:/][^\s/@]+@")
"""A user with a password, as in jdbc:oracle:thin:USER/PASSWORD@host."""


@dataclass(frozen=True)
class ConnectRecord(ReadRecord):
    """A record of a topic with connector configs."""

    def masked(self) -> ConnectRecord:
        """Return the record without the values of sensitive configs and of redacted fields."""
        record = super().masked()
        value = record.value
        return replace(record, value=replace(value, plain=_without_secrets(value.plain))) if value else record


def read_connect_record(key: bytes | None, value: bytes | None, redaction: FieldRedaction) -> ConnectRecord:
    """Return a record of a topic with connector configs, whose value is hidden as bytes if it holds a secret."""
    read_key = None if key is None else _part("key", "text", plain.text, key)
    read_value = None if value is None else _part("value", "json", plain.json_value, value)
    has_secret = read_value and (not read_value.fits or _without_secrets(read_value.plain) != read_value.plain)
    secret = redaction.parts | (frozenset({"value"}) if has_secret else frozenset())
    whole = all(part is None or part.fits for part in (read_key, read_value))
    return ConnectRecord(read_key, read_value, framed=False, secret=secret, whole=whole, redaction=redaction)


def _part(path: str, form: str, read: Callable[[bytes, int], Value], data: bytes) -> ReadPart:
    try:
        return ReadPart.of(path, data, form, None, "", read(bytes(data), 0).data, "")
    except UnfitError as error:
        return ReadPart.unfit(path, data, form, None, error)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if isinstance(value, dict):
        return {
            name: hidden(part) if _is_secret(name, part) else _without_secrets(part) for name, part in value.items()
        }
    return value


def _is_secret(name: str, value: Any) -> bool:
    """Return whether a config is sensitive by its name, or by a URL or setting in its value."""
    settings = _SETTING.findall(value) if isinstance(value, str) else []
    if any(is_sensitive_config(each) or _SENSITIVE.search(each) for each in (name, *settings)):
        return True
    return isinstance(value, str) and (without_credentials(value) != value or bool(_USER.search(value)))
