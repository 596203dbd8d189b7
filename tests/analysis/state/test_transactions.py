from kit.logs import Log, keyed


def put(name="tx", status=1, **more):
    value = {
        "producerId": 7,
        "producerEpoch": 2,
        "transactionTimeoutMs": 60000,
        "transactionStatus": status,
        "transactionPartitions": [{"topic": "t", "partitionIds": [0, 2]}],
        "transactionLastUpdateTimestampMs": 5,
        "transactionStartTimestampMs": 4,
    }
    return keyed(0, "TransactionLog", {"transactionalId": name}, value | more)


def test_the_newest_value_counts_with_its_state_by_name():
    log = Log("__transaction_state").add(put()).add(put(status=2)).add(put("other", status=7))
    assert [(row["transactionalId"], row["state"], row["recordOffset"]) for row in log.rows("transactions")] == [
        ("tx", "PrepareCommit", 1),
        ("other", "PrepareEpochFence", 2),
    ]
    assert log.rows("transactions")[0]["partitions"] == ["t-0", "t-2"]


def test_a_tombstone_removes_the_id():
    log = Log("__transaction_state").add(keyed(0, "TransactionLog", {"transactionalId": "never"}, None)).add(put())
    assert len(log.rows("transactions")) == 1
    assert log.add(keyed(0, "TransactionLog", {"transactionalId": "tx"}, None)).rows("transactions") == []


def test_what_is_not_known_is_counted():
    log = Log("__transaction_state").add((b"\0\7", b"")).add((b"\0\0\0\5tx", b"\0\0")).add(put(status=99))
    assert dict(log.state.unknown) == {"7": 1}
    assert [row["state"] for row in log.rows("transactions")] == ["Unknown"]
    assert log.state.undecoded == 1
