"""Releases of kwire and Kafka, and Kafka's own names and numbers that more than one room uses: topics and api keys."""

from __future__ import annotations

VERSION = "0.1.0"
"""The release of kwire itself, as pages, manuals and stored streams name it."""

RELEASE = "4.4"
"""The release whose definitions are bundled, and whose generator the rule book of that name follows."""

CLUSTER_METADATA, CLUSTER_METADATA_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The log of KRaft, and the id that it always has (Uuid.METADATA_TOPIC_ID)."""
CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
REMOTE_LOG_METADATA = "__remote_log_metadata"

PRODUCE = 0
FETCH = 1
METADATA = 3
CONTROLLED_SHUTDOWN = 7
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
"""The apis whose answer a broker holds back on purpose, with their keys; their latency says nothing about how fast it
is.
"""
