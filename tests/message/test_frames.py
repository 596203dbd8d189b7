import io

import pytest

import kwire_cli as kwire
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all, split

CATALOG = kwire.catalog()

# A real request of Kafka 3.3.1's admin client (KAFKA-14935), and what a broker could answer.
ADMIN = bytes.fromhex(
    "0000002b 0012 0003 00000000 0007 61646d696e2d31 00 12 6170616368652d6b61666b612d6a617661 06 332e332e31 00".replace(
        " ", ""
    )
)
ANSWER = bytes.fromhex("00000013 00000000 0000 02 0012 0000 0004 00 00000000 00")
METADATA = bytes.fromhex("00000013 0003 0001 00000007 0001 78 00000001 0000")


def codes(frame):
    return [anomaly.code for anomaly in frame.anomalies]


def frames(data, hints=None, **keys):
    return read_all(CATALOG, data, hints or Hints(), **keys)


def test_the_last_frame_can_be_cut():
    first, second = frames(ADMIN + ADMIN[:-7])
    assert first.sure
    assert codes(second) == ["TRUNCATED", "TRUNCATED"]
    assert second.body.value == {"clientSoftwareName": "apache-kafka-java"}


def test_split_follows_the_sizes():
    assert split(ADMIN + ADMIN) == [(0, 47, True), (47, 94, True)]
    assert split(ADMIN + b"\0\0") == [(0, 47, True), (47, 49, False)]
    assert split(b"\0\0\0\0\0\0\0\0") == [(0, 8, False)]
    assert split(b"\xff\xff\xff\xff\0\0\0\0") == [(0, 8, False)]
    assert split(b"\x7f\xff\xff\xff\0\0\0\0") == [(0, 8, False)]
    assert split(b"") == []


def test_the_error_of_an_old_broker_is_in_version_0_form():
    hints = Hints(CATALOG.api(18), 3, "response")
    for rest in ("00000000", "00000001 0012 0000 0003"):
        (frame,) = frames(bytes.fromhex("00000001 0023" + rest), hints)
        assert codes(frame) == ["VERSION_FALLBACK"]
        assert (frame.api_version, frame.body.version) == (3, 0)
        assert frame.body.value["errorCode"] == 35


def test_only_that_error_makes_it_fall_back():
    (frame,) = frames(bytes.fromhex("00000001 0024 00000000"), Hints(CATALOG.api(18), 3, "response"))
    assert "VERSION_FALLBACK" not in codes(frame)
    assert frame.body.version == 3


def test_the_four_extra_bytes_of_librdkafka():
    (frame,) = frames(bytes.fromhex("00000016 0012 0000 00000001 0008 72646b61666b6131 00000000"))
    assert codes(frame) == ["EXTRA_HEADER_BYTES"]
    assert frame.body.value == {}
    data = frame.data[frame.start : frame.stop]
    assert sum(span.end - span.start for _, part in frame.parts for span in part.spans) in {len(data), len(data) - 4}


def test_an_api_that_nobody_knows():
    (frame,) = frames(bytes.fromhex("0fff 0003 00000007 0001 61 00 ffff"), Hints(kind="request"))
    assert codes(frame) == ["UNKNOWN_API"]
    assert (frame.api, frame.api_key, frame.api_version, frame.body) == (None, 4095, 3, None)
    assert frame.header.value["clientId"] == "a"
    (old,) = frames(bytes.fromhex("0fff 0003 00000007 0001 61 ffff"), Hints(kind="request"))
    assert (old.header.version, old.header.value["clientId"]) == (1, "a")


def test_a_version_newer_than_any_known():
    (frame,) = frames(bytes.fromhex("0012 0063 00000001 0001 61 00 0261 0262 00 ffffffff 00"), Hints(kind="request"))
    assert codes(frame) == ["UNKNOWN_VERSION"]
    assert (frame.body.version, frame.body.guess, frame.sure) == (99, True, False)
    assert frame.body.layout_version < 99
    assert [row.path for row in kwire.ledger(frame.body)] == ["guess"]
    assert frame.to_json()["guess"] is True
    assert "candidates" not in frame.to_json()


def test_a_request_that_is_not_what_was_said():
    with pytest.raises(kwire.InputError, match="header has api key 18 version 3"):
        frames(ADMIN, Hints(CATALOG.api("Metadata"), None, "request"))


def test_controlled_shutdown_0_has_no_client_id():
    (frame,) = frames(bytes.fromhex("0007 0000 00000001 00000005"))
    assert (frame.header.version, frame.header.value) == (
        0,
        {"requestApiKey": 7, "requestApiVersion": 0, "correlationId": 1},
    )
    assert frame.body.value == {"brokerId": 5}


def test_read_frames_takes_bytes_files_and_paths(tmp_path):
    path = tmp_path / "frames.bin"
    path.write_bytes(ADMIN + ADMIN)
    for source in (
        ADMIN + ADMIN,
        bytearray(ADMIN + ADMIN),
        memoryview(ADMIN + ADMIN),
        str(path),
        path,
        io.BytesIO(ADMIN + ADMIN),
    ):
        assert [frame.api for frame in kwire.read_frames(source)] == ["ApiVersions", "ApiVersions"]
    assert [frame.api for frame in kwire.read_frames(ADMIN.hex().encode())] == ["ApiVersions"]
    assert [frame.api for frame in kwire.read_frames(io.StringIO(ADMIN.hex(" ")))] == ["ApiVersions"]
    (answer,) = kwire.read_frames(ANSWER.hex().encode(), input="hex", api="ApiVersions", version=3, kind="response")
    assert (answer.api, answer.guess) == ("ApiVersions", False)


@pytest.mark.parametrize("source", ["no/such/file", 5, None, "\0"])
def test_what_cannot_be_read(source):
    with pytest.raises(kwire.InputError):
        list(kwire.read_frames(source))


def test_lossless_frames_come_back():
    from kwire_cli.message.encode import encode_document

    data = [
        ADMIN,
        ADMIN[4:],
        ADMIN[:-9],
        ADMIN + b"\0",
        bytes.fromhex("00000016 0012 0000 00000001 0008 72646b61666b6131 00000000"),
        bytes.fromhex("0fff 0003 00000007 0001 61 00 ffff"),
        b"nonsense",
        b"\xff" * 30,
    ]
    for body in data:
        assert b"".join(encode_document(CATALOG, frame.to_json(lossless=True)) for frame in frames(body)) == body
