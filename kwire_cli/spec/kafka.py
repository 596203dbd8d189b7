"""Releases of kwire and Kafka, and names and numbers of Kafka that several rooms use: topics, api keys, and configs
that are passwords.
"""

from __future__ import annotations

import re
from functools import cache

VERSION = "0.1.0"
"""The release of kwire itself, as pages, manuals and stored streams name it."""

RELEASE = "4.4"
"""The release whose definitions are bundled, and whose generator the rule book of that name follows."""

CLUSTER_METADATA = "__cluster_metadata"
"""The log of KRaft."""
CLUSTER_METADATA_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
"""The fixed id of the log of KRaft (Uuid.METADATA_TOPIC_ID)."""
CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
REMOTE_LOG_METADATA = "__remote_log_metadata"
CONNECT_CONFIGS = ("connect-configs", "connect_configs")
"""The ends of the names of topics in which workers of Kafka Connect keep the configs of connectors."""

PRODUCE = 0
FETCH = 1
METADATA = 3
OFFSET_FETCH = 9
FIND_COORDINATOR = 10
DESCRIBE_GROUPS = 15
SASL_HANDSHAKE = 17
API_VERSIONS = 18
SASL_AUTHENTICATE = 36
DELETE_GROUPS = 42
ENVELOPE = 58
DESCRIBE_CLUSTER = 60
CONSUMER_GROUP_DESCRIBE = 69
SHARE_GROUP_DESCRIBE = 77
STREAMS_GROUP_DESCRIBE = 89
DESCRIBE_SHARE_GROUP_OFFSETS = 90
WAITING = {"Fetch": FETCH, "JoinGroup": 11, "SyncGroup": 14, "FetchSnapshot": 59, "ShareFetch": 78}
"""The apis whose responses a broker delays on purpose, with their keys. Their latency does not measure its speed."""


def is_connect_configs(topic: str | None) -> bool:
    """Return whether a topic holds the configs of connectors, by its name."""
    return topic is not None and topic.endswith(CONNECT_CONFIGS)


SENSITIVE_WORDS = ("password", "passwd", "passphrase", "secret", "jaas", "credential", "private", "certificate")
SENSITIVE_PAIRS = (
    (("connection",), ("string",)),
    (("user",), ("info",)),
    (("access", "account", "api", "auth", "encryption", "master", "shared", "signing", "keystore"), ("key",)),
    (("auth", "bearer", "sas", "security", "session"), ("token",)),
)
"""Words in the names of configs that are passwords: one word, or one of the first and one of the second words, with a
mark of SEPARATORS between them or none."""
SEPARATORS = "._-"


@cache
def _sensitive() -> re.Pattern[str]:
    pairs = (f"(?:{'|'.join(first)})[{SEPARATORS}]?(?:{'|'.join(second)})" for first, second in SENSITIVE_PAIRS)
    return re.compile("|".join((*SENSITIVE_WORDS, *pairs)), re.IGNORECASE)


def is_sensitive_config(name: str) -> bool:
    """Return whether Kafka keeps a config of this name as a password (ConfigDef.Type.PASSWORD)."""
    return bool(_sensitive().search(name))
