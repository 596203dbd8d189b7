"""`kwire groups` on captures and logs of real brokers."""

from kit.commands import ROOT, json_of, kwire, refusal_of

INCIDENTS = ROOT / "samples" / "incidents"


def tables(*arguments):
    return json_of("groups", *arguments)["tables"]


def test_a_classic_group_is_told_as_its_frames_are():
    got = tables(INCIDENTS / "rebalancing.pcap")
    group = got["groups"][0]
    assert (group["group"], group["protocol"], group["assignor"]) == ("payment-workers", "classic", "range")
    assert (group["generationFirst"], group["generationLast"], group["rebalances"]) == (1, 7, 6)
    leaves = [event for event in got["events"] if event["event"] == "leave"]
    assert [event["frame"] for event in leaves] == [118, 213, 275, 325, 329]
    assert [event["reason"].startswith("max.poll.interval.ms") for event in leaves] == [True] * 3 + [False] * 2
    assert {row["event"] for row in got["events"]} >= {"join", "rejoin", "leave", "rebalance", "assignment"}
    lost = [row for row in got["assignments"] if row["generation"] == 2 and row["client"] == "worker-1"]
    assert lost[0]["partitions"] == ["payments-0"]
    assert lost[0]["lost"] == ["payments-1"]


def test_one_group_can_be_chosen():
    got = tables("--group", "old-group-grp", ROOT / "samples/segments/__consumer_offsets-0")
    assert [row["group"] for row in got["groups"]] == ["old-group-grp"]
    error = refusal_of("groups", "--group", "old-grp", ROOT / "samples/segments/__consumer_offsets-0")
    assert "--group old-grp: there are " in error
    assert "; did you mean old-group-grp" in error


def test_a_request_log_is_read_as_a_capture_is():
    got = tables(ROOT / "samples/request-logs/kafka-request.log")
    assert [event["event"] for event in got["events"] if event["event"] != "assignment"] == [
        "join",
        "rebalance",
        "leave",
    ]
    assert all(event["line"] for event in got["events"])


def test_a_capture_without_groups_says_so():
    done = kwire("groups", "--format", "table", INCIDENTS / "sasl.pcap")
    assert (done.code, done.out) == (0, "no group in this\n")
