"""kwire compare of messages: what comes in, what is refused, and that its numbers are those of the bytes that encode
writes.
"""

import json
import re

import pytest
from kit.commands import ROOT, kwire

import kwire_cli as api

CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
FRAMES = ROOT / "samples" / "frames"
METADATA = (
    "-m",
    "MetadataResponse",
    "--message-version",
    "12",
    "--brokers",
    "2",
    "--partitions",
    "100",
    "--replicas",
    "2",
)


def forms(*arguments, **streams):
    """The forms of the only comparison, by name, each with its kinds."""
    done = kwire("compare", *arguments, "-f", "json", **streams)
    assert (done.code, done.err) == (0, "")
    tables = json.loads(done.out)["tables"]
    kinds = {form["form"]: {} for form in tables["forms"]}
    assert len(kinds) == len(tables["forms"])
    for row in tables["kinds"]:
        kinds[row["form"]][row["kind"]] = {"number": row["number"], "bytes": row["bytes"]}
    return {form["form"]: form | {"kinds": kinds[form["form"]]} for form in tables["forms"]}


def test_each_size_is_that_of_the_bytes_that_encode_writes():
    document = json.loads(kwire("compare", *METADATA, "--versions", "all", "-f", "json").out)
    value = document["facts"]["values"]
    assert not [loss for loss in document["tables"]["lost"] if loss["kafka"] == "refuses"]
    for form in document["tables"]["forms"]:
        absent = {"clusterAuthorizedOperations": -2147483648} if 8 <= form["version"] <= 10 else {}
        absent |= {"errorCode": 0} if form["version"] == 13 else {}
        assert form["size"] == len(api.encode(value | absent, message="MetadataResponse", version=form["version"]))


@pytest.mark.parametrize(("message", "old", "new"), [("FetchResponse", 11, 16), ("ApiVersionsResponse", 2, 4)])
def test_a_tagged_field_costs_when_it_is_set_what_diff_says(message, old, new):
    asked = kwire("compare", "-m", message, "--message-version", old, "--versions", new, "-f", "json")
    told = {row["path"]: row["whenSet"] for row in json.loads(asked.out)["tables"]["tagged"]}
    costs = json.loads(kwire("diff", message, old, new, "-f", "json").out)["tables"]["costs"]
    assert told == {row["path"]: row["whenSet"] for row in costs if row["values"] == "set"}
    assert len(told) >= 4


def test_inflexible_and_flexible_differ_by_what_their_kinds_say():
    found = forms(*METADATA, "--flexible")
    both = [found[name] for name in ("inflexible", "flexible")]
    assert (
        [sum(kind["bytes"] for kind in form["kinds"].values()) for form in both]
        == [form["size"] for form in both]
        == [4352, 3541]
    )
    assert [form["kinds"].get("tag sections", {}).get("bytes") for form in both] == [None, 104]
    assert [form["kinds"]["arrays"] for form in both] == [{"number": 303, "bytes": 1212}, {"number": 303, "bytes": 303}]


def test_best_and_worst_case_name_the_numbers_that_reach_them():
    found = forms(*METADATA, "--encoding", "packed", "--cases")
    assert found["packed, worst case"]["integers"] == {"packed16": 8192, "packed32": 134217728}
    assert found["packed, best case"]["integers"] == {"packed16": 0, "packed32": 0}
    assert found["packed"]["integers"] == {}


def test_what_decode_prints_is_a_message_with_its_version():
    decoded = kwire("decode", FRAMES / "create-topics-v7-request.hex", "-f", "json").raw
    body = kwire(
        "decode", "-m", "HeartbeatRequest", "--message-version", "4", "0267000000000002680000", "-f", "json"
    ).raw
    assert forms("--values", "-", "--flexible", stdin=decoded)["as given"]["version"] == 7
    assert forms("--values", "-", "--flexible", stdin=body)["as given"]["size"] == 10
    given = forms("--values", "-", "-m", "HeartbeatRequest", "--message-version", "3", "--versions", "3", stdin=body)
    assert (given["as given"]["version"], given["version 3"]["size"]) == (3, given["as given"]["size"])


def test_a_body_on_standard_input_is_not_generated_over():
    piped = forms("-m", "MetadataRequest", "--message-version", "0", "--flexible", stdin=b"0000 0001 0003 616263\n")
    assert piped["as given"]["size"] == 9
    assert (
        forms("-m", "MetadataRequest", "--message-version", "0", "--flexible", stdin=b"")["as given"]["size"]
        == forms("-m", "MetadataRequest", "--message-version", "0", "--flexible", stdin=None)["as given"]["size"]
    )


def test_two_files_of_one_message_stand_side_by_side():
    files = FRAMES / "api-versions-v5-request.hex", FRAMES / "librdkafka-api-versions-request.hex"
    done = kwire("compare", *files)
    assert done.code == 0
    assert f"{files[0].name} against {files[1].name}" in done.out
    assert "clientSoftwareName" in done.out
    assert kwire("compare", *files, "--flexible").code == 2
    same = kwire("compare", files[0], files[0], "-f", "json")
    assert [form["difference"] for form in json.loads(same.out)["tables"]["forms"]] == [0, 0]


def test_all_messages_of_a_capture_are_added_up():
    done = kwire("compare", CAPTURE, "-f", "json")
    document = json.loads(done.out)
    facts, tables = document["facts"], document["tables"]
    decoded = [json.loads(line) for line in kwire("decode", CAPTURE, "-f", "jsonl").out.splitlines()]
    assert facts["messages"] == sum(1 for line in decoded if line.get("body") is not None)
    for form in tables["total"]:
        forms_of = [row for row in tables["forms"] if row["form"] == form["form"]]
        assert form["size"] == sum(row["size"] for row in forms_of)
        assert form["messages"] == sum(row["messages"] for row in forms_of) == facts["messages"]
        assert form["difference"] == form["size"] - form["given"]
        if form["form"] != "as given":
            assert form["difference"] == sum(row[form["form"]] for row in tables["byMessage"])
    answers = sum(1 for line in decoded if line.get("api") == "ApiVersions" and line["kind"] == "response")
    assert facts["flexibleHeaders"] == facts["messages"] - answers


def test_the_prices_of_one_frame_are_those_of_the_frame_alone():
    line = json.loads(kwire("decode", CAPTURE, "--frames", "5", "-f", "jsonl").out)
    assert forms(CAPTURE, "--frames", "5", "--flexible")["as given"]["version"] == line["apiVersion"]


def test_what_can_not_be_priced_is_left_out_and_said():
    done = kwire("compare", ROOT / "samples" / "captures" / "not-kafka.pcapng", CAPTURE, "-f", "json")
    assert done.code == 0
    assert "kwire: skipped: " in done.err
    nothing = kwire("compare", "00000004 ffffffff")
    assert nothing.code == 2
    assert "there is no message to price (1 not known as a request or response); --api" in nothing.err
    assert "there is no file 'Foo'; read as text: there is no message to price" in kwire("compare", "Foo").err


def test_a_message_that_is_cut_is_left_out():
    whole = (FRAMES / "metadata-v13-response.hex").read_text("utf-8")
    done = kwire("compare", whole[: len(whole) // 2], "--api", "metadata", "--message-version", "13")
    assert done.code == 2
    assert "there is no message to price" in done.err


def test_values_of_secrets_are_not_shown_unless_they_are_asked_for():
    body = api.encode(
        {"hmac": "c2VjcmV0", "renewPeriodMs": 1, "unknownTaggedFields": [{"tag": 7, "data": "c2VjcmV0"}]},
        message="RenewDelegationTokenRequest",
        version=2,
    ).hex()
    arguments = ("compare", "-m", "RenewDelegationTokenRequest", "--message-version", "2", body, "--versions", "1")
    hidden, shown = kwire(*arguments), kwire(*arguments, "--show-secrets")
    assert "c2VjcmV0" not in hidden.out
    assert "<redacted 6 bytes>" in hidden.out
    assert "c2VjcmV0" in shown.out


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3", [3]),
        ("1,10,1", [1, 10]),
        ("1..100", [1, 2, 5, 10, 20, 50, 100]),
        ("7..300", [7, 10, 20, 50, 100, 200, 300]),
        ("0..20:5", [0, 5, 10, 15, 20]),
    ],
)
def test_numbers_of_an_option(text, numbers):
    done = kwire("compare", "-m", "MetadataRequest", "--topics", text, "--flexible", "-f", "json")
    tables = json.loads(done.out)["tables"]
    assert [row["topics"] for row in tables.get("byCounts", [{"topics": numbers[0]}])] == numbers


@pytest.mark.parametrize("depth", [10, 500, 100_000])
def test_values_that_nest_deeply_are_refused(depth, tmp_path):
    file = tmp_path / "deep.json"
    file.write_text('{"topics":[],"allowAutoTopicCreation":' + "[" * depth + "]" * depth + "}")
    for version in (1, 12):
        done = kwire(
            "compare", "-m", "MetadataRequest", "--message-version", version, "--values", file, "--versions", "0-12"
        )
        assert (done.code, done.err.count("\n")) in {(0, 0), (2, 1)}


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "-m", "MetadataRequest", "--values", "-"),
        ("encode", "-m", "MetadataRequest", "--message-version", "12"),
    ],
)
def test_numbers_that_no_field_holds_are_refused(command):
    done = kwire(*command, stdin=b'{"topics":' + b"9" * 5000 + b"}")
    assert (done.code, done.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("text", ["", "x", "-1", "1..", "5..1", "1..5:0", "1..100000:1", "1.5"])
def test_what_is_no_number_is_refused(text):
    assert kwire("compare", "-m", "MetadataRequest", "--topics", text).code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--versions", "x"),
        ("--cases", "--flexible"),
        ("--message-version", "99"),
        ("--values", "{}", "--topics", "3"),
        ("--topics", "1,2", "--by-field"),
        ("--filter", "api == Fetch", "00"),
        ("--message-version", "1", "--api", "Metadata", "00000000"),
        ("00000000",),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments):
    done = kwire("compare", "-m", "MetadataRequest", *arguments)
    assert done.code == 2
    assert done.err.count("\n") <= 3
    assert not done.out


@pytest.mark.parametrize(
    "words", [("--api", "Fetch"), ("--response",), ("--filter", "api == Fetch"), ("--frames", "1"), ("--port", "1")]
)
@pytest.mark.parametrize(
    ("values", "why"), [((), "without one values are generated"), (("--values", "{}"), "--values is JSON")]
)
def test_options_of_bytes_are_refused_where_there_are_none(values, why, words):
    done = kwire("compare", "-m", "HeartbeatRequest", *values, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"kwire: {words[0]} is for an INPUT of bytes; {why}\n")


def test_a_narrow_terminal_shows_whole_numbers_of_the_newest_versions():
    arguments = ("compare", "-m", "FetchRequest", "--partitions", "1,2")
    whole = json.loads(kwire(*arguments, "-f", "json").out)["tables"]["byCounts"]
    done = kwire(*arguments, terminal=True, variables={"NO_COLOR": "1", "COLUMNS": "120"})
    heading, *rows = (line for line in done.out.splitlines() if line.startswith(("partitions ", "         ")))
    names = re.split("  +", heading.strip())
    others = list(whole[0])[2:]
    assert names == ["partitions", "as given", *others[-len(names) + 2 :]]
    assert others[len(others) - len(names) + 1].startswith("version ")
    assert [[*map(int, row.split())] for row in rows] == [[row[name] for name in names] for row in whole]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-m", "FetchRequest", "--versions", "5-3"), "--versions takes the lower number first, not '5-3'"),
        ((CAPTURE, "--versions", "5-3"), "--versions takes the lower number first, not '5-3'"),
        (("-m", "FetchRequest", "--versions", "19-20"), "FetchRequest has versions 0-18, not 19-20"),
        ((CAPTURE, "--versions", "300"), "no message has versions 300"),
    ],
)
def test_versions_that_are_none_are_named(words, reason):
    done = kwire("compare", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"kwire: {reason}\n")


def test_bytes_by_field_of_messages_that_have_other_versions():
    done = kwire(
        "compare", ROOT / "samples/incidents/rebalancing.pcap", "--versions", "all", "--by-field", "-f", "json"
    )
    assert done.code == 0
    rows = json.loads(done.out)["tables"]["byField"]
    assert {"FetchRequest", "MetadataResponse"} < {row["message"] for row in rows}


def test_a_range_that_ends_in_too_much_is_refused_before_anything_is_priced(monkeypatch):
    monkeypatch.setattr("kwire_cli.cli.compare_messages.generate", None)
    done = kwire("compare", "-m", "MetadataResponse", "--versions", "12", "--partitions", "1..1000000")
    assert (done.code, "are too many" in done.err) == (2, True)


def test_times_are_measured_of_each_form_on_this_machine(monkeypatch):
    monkeypatch.setattr("kwire_cli.analysis.costs.times.SECONDS", 0)
    arguments = ("-m", "HeartbeatRequest", "--encoding", "fixed", "--encoding", "packed", "--times")
    rows = json.loads(kwire("compare", *arguments, "-f", "json").out)["tables"]["times"]
    assert [row["form"] for row in rows] == ["as given", "fixed", "packed"]
    assert "measured now on this machine" in kwire("compare", *arguments).out
    given = kwire("compare", FRAMES / "api-versions-v5-request.hex", "--flexible", "--times", "-f", "json")
    assert [row["form"] for row in json.loads(given.out)["tables"]["times"]] == ["as given", "inflexible", "flexible"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "MetadataRequest", "--topics", "1,2"),
        (CAPTURE,),
        (FRAMES / "api-versions-v5-request.hex", FRAMES / "librdkafka-api-versions-request.hex"),
    ],
)
def test_times_are_refused_for_several_messages(arguments):
    done = kwire("compare", *arguments, "--times")
    assert (done.code, done.raw) == (2, b"")
    assert "--times needs a single message" in done.err


ORDERS = ROOT / "samples/segments/orders-zstd-0/00000000000000000000.log"
REQUEST = ROOT / "samples/frames/produce-v13-request.hex"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((ORDERS, "--flexible"), f"--flexible is for messages, and {ORDERS} is record batches"),
        ((ORDERS, "--count", "topics=2"), "the other options for generated values do not go with an INPUT"),
        ((REQUEST, "--codec", "zstd", "--flexible"), "--flexible is for messages, and --codec is for records; use one"),
        ((REQUEST, "--half"), "--half needs --advise"),
        ((ORDERS, "--advise", "--codec", "zstd"), "--codec does not go with --advise"),
        ((REQUEST, "--advise", "--versions", "all"), "--versions does not go with --advise"),
        ((REQUEST, ORDERS), f"{ORDERS}: this is record batches, and the first input holds messages"),
    ],
)
def test_an_option_that_does_not_fit_the_input_is_refused(words, reason):
    done = kwire("compare", *words)
    assert (done.code, done.out) == (2, "")
    assert reason in done.err


def test_an_option_for_records_compares_the_records_in_messages():
    found = json.loads(kwire("compare", REQUEST, "--codec", "none", "-f", "json").out)
    assert found["title"] == "Records in other forms"
    found = json.loads(kwire("compare", REQUEST, "-f", "json").out)
    assert found["title"].startswith("ProduceRequest 13: ")
