"""Messages of formats v0 and v1, by hand from LegacyRecord's table."""

import pytest

from kwire_cli import EncodeError
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.records import v0, v1


def test_overheads_are_those_of_kafka():
    empty = {"offset": 0, "crc": 0, "magic": 0, "attributes": 0, "timestamp": 0, "key": None, "value": None}
    assert len(v1.MESSAGE.build(empty)) == 12 + 22
    del empty["timestamp"]
    assert len(v0.MESSAGE.build(empty)) == 12 + 14
    assert offset_of(v0.MESSAGE, "magic") == offset_of(v1.MESSAGE, "magic") == offset_of(v1.MESSAGE, v1.CRC_FROM) == 16


@pytest.mark.parametrize("size", [20, 22, 0, -1, 2**31 - 1])
def test_a_size_that_lies(read, size):
    data = bytes.fromhex(
        "0000000000000003"
        + (size % 2**32).to_bytes(4, "big").hex()
        + "9e04fd59 00 01 00000002 6b31 00000005 76616c7565"
    )
    found = read(v0.MESSAGE_SET, data * 2)
    assert [message["value"] for message in found.value["messages"]] == ["dmFsdWU="] * 2
    assert found.anomalies == [
        ("RECORD_SIZE_MISMATCH", "messages[0].messageSize", 8),
        ("RECORD_SIZE_MISMATCH", "messages[1].messageSize", 41),
    ]


def test_the_size_may_be_left_out_or_has_to_be_true():
    message = {"offset": 0, "crc": 0, "magic": 0, "attributes": 0, "key": None, "value": "AQ=="}
    data = v0.MESSAGE.build(message)
    assert v0.MESSAGE.build(message | {"messageSize": 15}) == data
    with pytest.raises(EncodeError, match="15 bytes follow") as caught:
        v0.MESSAGE.build(message | {"messageSize": 14})
    assert caught.value.path == "messageSize"
    assert v0.MESSAGE.build(message | {"messageSize": 14}, lenient=True)[8:12] == b"\0\0\0\x0e"
