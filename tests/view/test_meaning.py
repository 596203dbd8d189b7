"""Names beside numbers: error codes, api keys, enums, bit sets, sentinels, reserved ids, timestamps."""

import pytest

import kwire_cli
from kwire_cli.engine.lower import entry_for
from kwire_cli.view.meanings import meaning

CATALOG = kwire_cli.catalog()


def leaf(message, version, path):
    entry = entry_for(CATALOG[message], version)
    [found] = [node for node in entry.program.leaves if node.path == path and node.kind not in {"count", "tag-header"}]
    return found


@pytest.mark.parametrize(
    ("message", "version", "path", "value", "name"),
    [
        ("MetadataResponse", 9, "topics[].errorCode", 0, "NONE"),
        ("MetadataResponse", 9, "topics[].errorCode", -1, "UNKNOWN_SERVER_ERROR"),
        ("MetadataResponse", 9, "topics[].errorCode", 9999, None),
        ("MetadataResponse", 9, "topics[].topicAuthorizedOperations", -2147483648, "AUTHORIZED_OPERATIONS_OMITTED"),
        ("MetadataResponse", 9, "topics[].topicAuthorizedOperations", 0b100001000, "READ|DESCRIBE"),
        ("MetadataResponse", 9, "topics[].topicAuthorizedOperations", 1 << 20 | 1 << 3, "READ|0x100000"),
        ("RequestHeader", 2, "requestApiKey", 3, "Metadata"),
        ("RequestHeader", 2, "requestApiKey", 999, None),
        ("ApiVersionsResponse", 3, "apiKeys[].apiKey", 18, "ApiVersions"),
        ("EndTxnRequest", 3, "committed", True, "COMMIT"),
        ("EndTxnRequest", 3, "committed", False, "ABORT"),
        ("ListOffsetsRequest", 7, "topics[].partitions[].timestamp", -2, "EARLIEST"),
        ("ListOffsetsRequest", 7, "topics[].partitions[].timestamp", 1_700_000_000_000, "2023-11-14T22:13:20.000Z"),
        ("ListOffsetsRequest", 7, "topics[].partitions[].timestamp", 1_700_000_000_000_000, None),
        ("ListOffsetsRequest", 7, "topics[].partitions[].timestamp", 5, None),
        ("CreateDelegationTokenResponse", 2, "expiryTimestampMs", 1_700_000_000_001, "2023-11-14T22:13:20.001Z"),
        ("FetchRequest", 12, "isolationLevel", 1, "READ_COMMITTED"),
        ("FetchRequest", 12, "replicaId", -1, "ORDINARY_CONSUMER_ID"),
        ("FetchRequest", 12, "maxWaitMs", 500, None),
        ("DescribeGroupsResponse", 5, "groups[].groupState", "Stable", None),
        ("AlterUserScramCredentialsRequest", 0, "upsertions[].mechanism", 2, "SCRAM_SHA_512"),
        ("AddRaftVoterRequest", 0, "voterDirectoryId", "AAAAAAAAAAAAAAAAAAAAAQ", "UNASSIGNED"),
        ("PartitionRecord", 2, "leader", -1, "NO_LEADER"),
        ("DescribeAclsRequest", 3, "operation", 3, "READ"),
        ("AlterClientQuotasRequest", 1, "entries[].ops[].value", 1.0, None),
    ],
)
def test_meaning(message, version, path, value, name):
    assert meaning(CATALOG, message, leaf(message, version, path), value) == name
