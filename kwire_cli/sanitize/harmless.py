"""What says nothing of whoever's traffic it is, and stays: Kafka's own words, and fields that hold nothing else. Everything else is replaced."""

from __future__ import annotations

from kwire_cli.payload.records import OWN_TOPICS

FIELDS: dict[str, frozenset[str]] = {
    "ApiVersionsRequest": frozenset({"clientSoftwareName", "clientSoftwareVersion"}),
    "ApiVersionsResponse": frozenset({"supportedFeatures[].name", "finalizedFeatures[].name"}),
    "UpdateFeaturesRequest": frozenset({"featureUpdates[].feature"}),
    "UpdateFeaturesResponse": frozenset({"results[].feature"}),
    "BrokerRegistrationRequest": frozenset({"features[].name"}),
    "FeatureLevelRecord": frozenset({"name"}),
    "RegisterBrokerRecord": frozenset({"features[].name"}),
}
"""Fields of a message, by path, that stay whatever they say: the names of software and of Kafka's features."""

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
    )
)  # fmt: skip
"""Values that stay in whatever field of text they stand."""


def stays(message: str, path: str, value: bytes) -> bool:
    """Whether a text in a field of a message says nothing of its own."""
    return value in WORDS or path in FIELDS.get(message, ())
