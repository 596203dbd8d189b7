"""Records of coordinators: what each is about."""

import pytest
from kit.logs import catalog, keyed

from kwire_cli.analysis.coordinators import decode_coordinator, partitions_in
from kwire_cli.spec.kafka import CONSUMER_OFFSETS, TRANSACTION_STATE

PLACE = {"group": "g", "topic": "t", "partition": 0}
COMMIT = {"offset": 3, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 1}


def of(topic, *record):
    return decode_coordinator(catalog(), topic, *record)


def test_a_committed_offset_is_no_part_of_a_group():
    record = of(CONSUMER_OFFSETS, *keyed(1, "OffsetCommit", PLACE, COMMIT, version=3))
    assert (record.name, record.part) == ("g", "")
    assert (record.key, record.value["offset"]) == (PLACE, 3)


def test_a_record_without_a_value_removes_what_its_key_names():
    record = of(CONSUMER_OFFSETS, *keyed(5, "ConsumerGroupMemberMetadata", {"groupId": "g", "memberId": "m"}, None))
    assert (record.name, record.value, record.group_type, record.part) == ("g", {}, "consumer", "MemberMetadata")


def test_a_transaction_with_its_partitions():
    value = {
        "producerId": 4,
        "producerEpoch": 0,
        "transactionTimeoutMs": 1,
        "transactionStatus": 1,
        "transactionPartitions": [{"topic": "a", "partitionIds": [0, 2]}],
        "transactionLastUpdateTimestampMs": 5,
        "transactionStartTimestampMs": 5,
    }
    record = of(TRANSACTION_STATE, *keyed(0, "TransactionLog", {"transactionalId": "x"}, value))
    assert (record.name, record.status, partitions_in(record.value)) == ("x", "Ongoing", ["a-0", "a-2"])


@pytest.mark.parametrize("key", [None, b"", b"\0", b"\0\1\0", b"\x7f\x7f"])
def test_records_without_a_meaning(key):
    assert of(CONSUMER_OFFSETS, key, None) is None
