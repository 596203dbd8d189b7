"""The prefixes of messages that lie inside other bytes, which say what follows and in which version.

Sources: org.apache.kafka.common.protocol.MessageUtil.toVersionPrefixedByteBuffer, CoordinatorRecordSerde (keys and values), AbstractApiMessageSerde
(metadata records), Streams' SubscriptionInfo and AssignmentInfo.
"""

from __future__ import annotations

from kwire_cli.structs.messages import MessageStruct
from kwire_cli.structs.numbers import INTS, UVARINT

VERSION = MessageStruct(["version" / INTS["int16"]], None, {})
"""Before consumer and Connect protocols, principals, control records, and the keys (as their type) and values of coordinators."""

SCHEMA_VERSION = MessageStruct(["version" / INTS["int32"]], None, {})
"""The first field of what Streams embeds; it is a part of the message."""

METADATA_FRAME = MessageStruct(["frameVersion" / UVARINT, "apiKey" / UVARINT, "version" / UVARINT], None, {})
"""Before each record of __cluster_metadata and __remote_log_metadata; the frame version is 1."""
