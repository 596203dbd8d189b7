"""What fits bytes that do not fit their label: Kafka's own messages under wrong versions and wrong headers."""

import base64
import re

import pytest
from kit.messages import SHARED, sample, shared

import kwire_cli as kwire
from kwire_cli.message.bodies import decode_body
from kwire_cli.message.decoded import build
from kwire_cli.message.encode import header_spec
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all

CATALOG = kwire.catalog()
FETCH = CATALOG.api("Fetch")
ROWS = [row for row in sample() if row.kafka == "4.4.0"]


def notes(subject):
    return [anomaly.detail for anomaly in subject.anomalies if anomaly.code == "FITS_OTHERWISE"]


def named(detail, word):
    """Return the numbers in the list of versions after `as version` or `header version`."""
    text = re.search(rf"{word} version ([0-9][-0-9, or]*)", detail)
    numbers = set()
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", text[1]) if text else []:
        numbers |= set(range(int(low), int(high or low) + 1))
    return numbers


def frame(kind, api, version, body, *, header):
    value = {"correlationId": 305_419_896}
    if kind == "request":
        value |= {"requestApiKey": api.key, "requestApiVersion": version}
        value |= {"clientId": "kwire"} if header else {}
    data = build(header_spec(CATALOG, kind), value, header) + body
    return len(data).to_bytes(4, "big") + data


def read(kind, api, version, data):
    (one,) = read_all(CATALOG, data, Hints(api, version if kind == "response" else None, kind), framed=True)
    return one


def check_row(row):
    """Return how many wrong labels do not fit a golden message; the note on each has to name the right one."""
    spec = CATALOG.message(row.message)
    count = 0
    assert not notes(decode_body(CATALOG, row.body, row.message, row.version))
    for wrong in spec.valid_versions.each():
        body = decode_body(CATALOG, row.body, row.message, wrong)
        if not body.raw.well_formed:
            (detail,) = notes(body)
            assert row.version in named(detail, "as"), (wrong, detail)
            count += 1
    api = CATALOG.api_by_key(spec.api_key) if spec.type in {"request", "response"} else None
    if api is None:
        return count
    own = CATALOG.header_version(spec.type, api.key, row.version)
    for number in header_spec(CATALOG, spec.type).valid_versions.each():
        one = read(spec.type, api, row.version, frame(spec.type, api, row.version, row.body, header=number))
        if number == own:
            assert not notes(one)
        elif one.body is None or not one.body.raw.well_formed:
            (detail,) = notes(one)
            assert number in named(detail, "header"), (number, detail)
            count += 1
    return count


def test_golden_messages_under_wrong_labels():
    assert sum(map(check_row, ROWS)) > len(ROWS)


@pytest.mark.slow  # four thousand messages under every version
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the reference data")
def test_all_golden_messages_under_wrong_labels():
    rows = [row for row in shared() if row.kafka == "4.4.0"]
    assert round(sum(map(check_row, rows)), -2) == 9_500  # as docs/model.md says


def test_the_words_for_what_fits():
    body = kwire.encode({"throttleTimeMs": 0, "errorCode": 0}, message="HeartbeatResponse", version=1)
    heartbeat = CATALOG.api("Heartbeat")
    correlation = b"\0\0\0\x07"

    def words(data, version):
        return notes(read("response", heartbeat, version, len(data).to_bytes(4, "big") + data))

    assert words(correlation + body, 0) == ["fits exactly as version 1-3"]
    assert words(correlation + body + b"\0", 4) == ["fits exactly with header version 0; Kafka writes version 1"]
    tagged = correlation + b"\0" + body
    assert words(tagged, 1) == ["fits exactly with header version 1; Kafka writes version 0"]
    both = "as version 4 with header version 0 or as version 1-3 with header version 1"
    assert words(tagged, 0) == [f"fits exactly {both}"]
    assert words(tagged + b"\0\0\0", 4) == []


PARTITION = {
    "partitionIndex": 0,
    "errorCode": 0,
    "highWatermark": 9,
    "records": base64.b64encode(b"\0" * 16 + b"\2" + b"\0" * 100).decode(),
}
OLD_FETCH = kwire.encode({"responses": [{"topic": "t", "partitions": [PARTITION]}]}, message="FetchResponse", version=0)


def test_the_api_and_version_stay_as_they_were_labelled():
    body = decode_body(CATALOG, OLD_FETCH, "FetchResponse", 1)
    one = read("response", FETCH, 1, frame("response", FETCH, 0, OLD_FETCH, header=0))
    assert (body.version, body.value["throttleTimeMs"]) == (1, 1)
    assert (one.api_version, one.body.value) == (1, body.value)
    assert one.to_json()["anomalies"][-1]["code"] == "FITS_OTHERWISE"
