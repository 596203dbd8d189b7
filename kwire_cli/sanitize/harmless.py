"""What says nothing of whoever's traffic it is, and stays: Kafka's own words, and fields that hold nothing else. Everything else is replaced."""

from __future__ import annotations

import re

from kwire_cli.payload.records import OWN_TOPICS

FEATURES = (
    "metadata.version", "kraft.version", "transaction.version", "group.version", "share.version", "streams.version",
    "eligible.leader.replicas.version",
)  # fmt: skip
"""What Kafka calls its features (MetadataVersion.FEATURE_NAME and the constants of org.apache.kafka.server.common.Feature)."""

SOFTWARE = {"ApiVersionsRequest": frozenset({"clientSoftwareName", "clientSoftwareVersion"})}
"""Fields of a message, by path, that stay if they look like the name or version of software."""
_SOFTWARE = re.compile(rb"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What a broker takes for one (KIP-511, ApiVersionsRequest.isValid)."""
_LONGEST_SOFTWARE = 64

WORDS = frozenset(
    word.encode()
    for word in (
        # Topics of Kafka itself, and what stands for any or the only resource.
        *OWN_TOPICS, "*", "kafka-cluster", "User", "ANONYMOUS", "User:ANONYMOUS", "User:*",
        # Security protocols and SASL mechanisms.
        "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "CONTROLLER", "BROKER",
        "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM",
        # Types, protocols and states of groups and transactions.
        "consumer", "connect", "classic", "share", "streams", "stream", "sr",
        "range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "compatible", "sessioned", "default", "simple", "homogeneous",
        "Unknown", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling", "NotReady",
        "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "PrepareEpochFence",
        *FEATURES,
    )
)  # fmt: skip
"""Values that stay in whatever field of text they stand."""


def stays(message: str, path: str, value: bytes) -> bool:
    """Whether a text in a field of a message says nothing of its own. `message` is empty where it is not certain that it is one."""
    if value in WORDS:
        return True
    return path in SOFTWARE.get(message, ()) and len(value) <= _LONGEST_SOFTWARE and _SOFTWARE.fullmatch(value) is not None
