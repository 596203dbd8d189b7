"""kwire stats: what it counts, over time and by dimension, in every format."""

import pytest
from kit.captures import spoken_capture
from kit.commands import ROOT, json_of, kwire, refusal_of
from kit.traffic import Wire

CAPTURE = ROOT / "samples" / "incidents" / "rebalancing.pcap"
LOG = ROOT / "samples" / "request-logs" / "kafka-request.log"


def test_a_client_without_an_id_and_one_with_an_empty_id_are_two_as_in_clients(tmp_path):
    path = tmp_path / "two.pcap"
    ids = ["app", "", None]
    path.write_bytes(
        spoken_capture(
            *((0, Wire.request("Heartbeat", 4, number, client)) for number, client in enumerate(ids * 2, 1)),
            *((1, Wire.response("Heartbeat", 4, number)) for number in range(1, 7)),
        )
    )
    for more, table in ((), "client"), (("--every", "1h"), "overTime"):
        document = json_of("stats", path, "--by", "client", *more)
        rows = {row.get("client", row.get("name")): row["requests"] for row in document["tables"][table]}
        assert rows == dict.fromkeys(ids, 2)
    rows = json_of("clients", path)["tables"]["clients"]
    assert {row["clientId"]: row["requests"] for row in rows} == dict.fromkeys(ids, 2)
    shown = kwire("stats", path, "--by", "client", "-f", "table").out
    assert [line[:3] for line in shown.splitlines()[-3:]] == ["app", "   ", "-  "]
    by_software = json_of("stats", path, "--by", "software")["tables"]["software"]
    assert [row["software"] for row in by_software] == [None]


def test_filter_chooses_lines():
    assert [
        row["api"] for row in json_of("stats", CAPTURE, "--by", "api", "--filter", "api == JoinGroup")["tables"]["api"]
    ] == ["JoinGroup 7"]


@pytest.mark.parametrize("duration", ["0", "0.4ms", "soon", "5 d", "-1s", ""])
def test_durations_are_checked_before_anything_is_read(duration):
    assert "--every takes a duration" in refusal_of("stats", "no-such-file", "--every", duration)


def test_what_does_not_fit_is_an_error():
    assert "--busiest goes with --every" in kwire("stats", CAPTURE, "--busiest", "3").err
    assert "--filter is for packet captures" in kwire("stats", LOG, "--filter", "error").err
    assert (
        "this question is about packet captures" in kwire("stats", ROOT / "samples" / "segments" / "orders-zstd-0").err
    )
    assert kwire("stats", stdin=None).code == 2
