"""kwire compare of messages: what comes in, what is refused, and that its numbers are those of the bytes that encode
writes.
"""

import json

from kit.commands import ROOT, json_of, kwire, lines_of, refusal_of

import kwire_cli as api

CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
FRAMES = ROOT / "samples" / "frames"


def forms(*arguments, **streams):
    """The forms of the only comparison, by name."""
    done = kwire("compare", *arguments, "-f", "json", **streams)
    assert (done.code, done.err) == (0, "")
    tables = json.loads(done.out)["tables"]
    return {form["form"]: form for form in tables["forms"]}


def test_a_body_on_standard_input_is_not_generated_over():
    piped = forms(
        "-m", "MetadataRequest", "--message-version", "0", "--form", "flexible", stdin=b"0000 0001 0003 616263\n"
    )
    assert piped["as given"]["size"] == 9
    assert (
        forms("-m", "MetadataRequest", "--message-version", "0", "--form", "flexible", stdin=b"")["as given"]["size"]
        == forms("-m", "MetadataRequest", "--message-version", "0", "--form", "flexible", stdin=None)["as given"][
            "size"
        ]
    )


def test_all_messages_of_a_capture_are_added_up():
    document = json_of("compare", CAPTURE)
    facts, tables = document["facts"], document["tables"]
    decoded = lines_of("decode", CAPTURE)
    assert facts["messages"] == sum(1 for line in decoded if line.get("body") is not None)
    assert tables["forms"][0]["size"] >= sum(row["given"] for row in tables["byMessage"])
    for form in tables["forms"]:
        assert form["messages"] == facts["messages"]
        assert form["difference"] == form["size"] - form["given"]
        if form["form"] != "as given":
            assert form["difference"] == sum(row[form["form"]] for row in tables["byMessage"])
    answers = sum(1 for line in decoded if line.get("api") == "ApiVersions" and line["kind"] == "response")
    assert facts["flexibleHeaders"] == facts["messages"] - answers


def test_the_prices_of_one_frame_are_those_of_the_frame_alone():
    line = json.loads(kwire("decode", CAPTURE, "--frames", "5", "-f", "jsonl").out)
    assert forms(CAPTURE, "--filter", "frame == 5", "--form", "flexible")["as given"]["version"] == line["apiVersion"]


def test_what_can_not_be_priced_is_left_out_and_said():
    done = kwire("compare", ROOT / "samples" / "captures" / "not-kafka.pcapng", CAPTURE, "-f", "json")
    assert done.code == 0
    assert "kwire: skipped: " in done.err
    assert "there is no message to price (1 not known as a request or response); --api" in refusal_of(
        "compare", "00000004 ffffffff"
    )
    assert "there is no file 'Foo'; read as text: there is no message to price" in kwire("compare", "Foo").err


def test_a_message_that_is_cut_is_left_out():
    whole = (FRAMES / "metadata-v13-response.hex").read_text("utf-8")
    assert "there is no message to price" in refusal_of(
        "compare", whole[: len(whole) // 2], "--api", "metadata", "--message-version", "13"
    )


def test_values_of_secrets_are_not_shown():
    body = api.encode(
        {"hmac": "c2VjcmV0", "renewPeriodMs": 1, "unknownTaggedFields": [{"tag": 7, "data": "c2VjcmV0"}]},
        message="RenewDelegationTokenRequest",
        version=2,
    ).hex()
    arguments = ("compare", "-m", "RenewDelegationTokenRequest", "--message-version", "2", body, "--versions", "1")
    hidden = kwire(*arguments)
    assert "c2VjcmV0" not in hidden.out
    assert "<redacted 6 bytes>" in hidden.out


def test_bytes_by_field_of_messages_that_have_other_versions():
    rows = json_of("compare", ROOT / "samples/incidents/rebalancing.pcap", "--versions", "all", "--by-field")["tables"][
        "byField"
    ]
    assert {"FetchRequest", "MetadataResponse"} < {row["message"] for row in rows}


REQUEST = ROOT / "samples/frames/produce-v13-request.hex"


def test_an_option_for_records_compares_the_records_in_messages():
    found = json_of("compare", REQUEST, "--codec", "none")
    assert found["title"] == "Records in other forms"
    found = json_of("compare", REQUEST)
    assert found["title"].startswith("ProduceRequest 13: ")
