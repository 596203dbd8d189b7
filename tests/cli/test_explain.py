"""`kwire explain` as a user runs it: what goes where, and hostile bytes."""

import json

import pytest
from hypothesis import given, strategies as st
from kit.commands import ROOT, examples, json_of, kwire as run, refusal_of

FRAME = "samples/frames/api-versions-v5-request.hex"


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_a_header_by_the_definition_is_no_exception_of_kafka(tmp_path):
    document = json.loads((ROOT / "specs" / "HeartbeatRequest.json").read_text())
    document |= {"headerVersions": {"0-3": 1, "4+": 1}}
    (tmp_path / "HeartbeatRequest.json").write_text(json.dumps(document))
    out = " ".join(run("explain", "header", "Heartbeat", "4", "--specs", tmp_path, "--short").out.split())
    assert "which would mean header 2, but the definition's headerVersions say otherwise." in out
    assert "Kafka's exceptions" in run("explain", "header", "ApiVersions", "4", "--short").out


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("words", [("finding", "REBALANCE"), ("varint", "-3"), ("error", "6")])
def test_text_is_wrapped_once_to_the_width_of_the_terminal(words, columns):
    lines = run("explain", *words, terminal=True, variables={"NO_COLOR": "1", "COLUMNS": str(columns)}).out.splitlines()
    texts = [line.strip(" │→") for line in lines]
    short = [
        line
        for line, text, further in zip(lines, texts, texts[1:], strict=False)
        if text and further and text[-1].isalpha() and further[0].islower()
        if len(line) + 1 + len(further.split()[0]) <= columns
    ]
    assert short == []


def test_a_file_with_the_name_of_a_topic_is_reached_by_its_path(tmp_path, monkeypatch):
    data = (ROOT / FRAME).read_bytes()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "anomaly").write_bytes(data)
    assert "TAG_ORDER" in run("explain", "anomaly").out
    assert "ApiVersions request" in run("explain", "./anomaly").out


def test_the_bytes_in_json_are_those_of_the_frame():
    text = "".join(line for line in (ROOT / FRAME).read_text().splitlines() if not line.startswith("#"))
    document = json_of("explain", FRAME)
    pieces = [piece for step in document["explanation"] for piece in step.get("pieces", ())]
    assert "".join(piece["bytes"] for piece in pieces) == text.replace(" ", "")
    assert {piece["rule"] for piece in pieces} <= {rule["rule"] for rule in document["rules"]}


def test_json_lines_have_the_rule_before_the_step_that_names_it():
    known = set()
    for line in run("explain", "--format", "jsonl", "samples/frames/produce-v13-request.hex").out.splitlines():
        document = json.loads(line)
        if "rule" in document:
            assert document["rule"] not in known
            known.add(document["rule"])
        for piece in document.get("pieces", ()):
            assert piece["rule"] in known


@examples(40)
@given(st.binary(max_size=120))
def test_hostile_bytes_end_well(data):
    for words in (
        (
            "--kind",
            "request",
        ),
        ("-m", "MetadataResponse", "--message-version", "12"),
        ("--record-format", "v2"),
        (),
    ):
        done = run("explain", "--short", *words, "--input", "raw", "-", stdin=data)
        assert done.code in {0, 2}


@examples(20)
@given(st.data())
def test_damaged_segments_end_well(data):
    path = data.draw(st.sampled_from(sorted((ROOT / "samples" / "segments").glob("*/*"))))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    done = run("explain", "--short", "--record-format", "auto", "--input", "raw", "-", stdin=bytes(raw))
    assert done.code in {0, 2}


def test_alone_on_a_terminal_it_lists_the_topics():
    assert "varint" in refusal_of("explain", stdin=None)


def test_a_topic_refuses_options_of_messages_and_wrong_words():
    assert "--at is for messages and batches" in refusal_of("explain", "error", "6", "--at", "1")
    assert "kwire explain size SIZE..." in refusal_of("explain", "size")
    assert "kwire explain type [NAME [VALUE]]" in refusal_of("explain", "type", "int32", "1", "2")
    assert "'x' is not a whole number" in refusal_of("explain", "header", "Fetch", "x")
    assert "which is an int32" in refusal_of("explain", "size", "2147483648")


def test_a_frame_by_its_number(tmp_path):
    file = tmp_path / "two.hex"
    file.write_text("0000000a00120000000000010000" + "0000000a00120000000000020000")
    assert "correlationId = 2" in run("explain", "--short", f"{file}@2").out
    assert "correlationId = 2" not in run("explain", "--short", f"{file}@1").out
    assert "there is no frame 3: it has 2" in refusal_of("explain", "--short", f"{file}@3")
