"""kwire diff of two messages: where they come from, and what of them is compared; what it prints is in
golden/diff-messages.txt.
"""

import pytest
from kit.commands import ROOT, json_of, kwire, refusal_of

from kwire_cli import encode

CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
FRAMES = ROOT / "samples" / "frames"
BODY = ("--message", "MetadataRequest", "--message-version", "1")
ONE, OTHER = "00000001000174", "00000001000175"


def document(*arguments, **keys):
    """What differs: the facts, the differences, and the two sides."""
    answer = json_of("diff", *arguments, **keys)
    a, b = answer["tables"]["sides"]
    return answer["facts"] | {"differences": answer["tables"]["differences"], "a": a, "b": b}


def test_files_standard_input_and_arguments(tmp_path):
    (tmp_path / "one.bin").write_bytes(bytes.fromhex(ONE))
    raw = ("--input", "raw", *BODY)
    assert document(*raw, tmp_path / "one.bin", "-", stdin=bytes.fromhex(ONE))["verdict"] == "same"
    assert document(*BODY, ONE, "-", stdin=OTHER.encode())["counts"] == {"removed": 1, "added": 1}
    named = tmp_path / "name@1"
    named.write_text(OTHER)
    assert document(*BODY, ONE, named)["b"]["input"] == str(named)
    (tmp_path / "both.txt").write_text(f"{ONE}\n\n{OTHER}\n")


def test_two_frames_of_a_capture_in_two_ways():
    one = document(CAPTURE, "--frames", "33,35")
    two = document(f"{CAPTURE}@33", f"{CAPTURE}@35")
    assert one == two
    assert (one["a"]["api"], one["a"]["version"], one["a"]["size"]) == ("JoinGroup", 7, 144)
    assert [each["path"] for each in one["differences"]] == ["header.correlationId", "memberId"]


def test_two_frames_of_one_pipe():
    piped = document("-", "--frames", "35,33", stdin=CAPTURE.read_bytes())
    assert piped["differences"] == document(CAPTURE, "--frames", "35,33")["differences"]
    bodies = document(*BODY, "--input", "hex-lines", "-", "--frames", "2,1", stdin=f"{ONE}\n{OTHER}\n".encode())
    assert [each["path"] for each in bodies["differences"]] == ['topics[name="u"]', 'topics[name="t"]']
    assert "this is a capture of several frames" in refusal_of("diff", "-", f"{CAPTURE}@33", stdin=CAPTURE.read_bytes())


def test_a_frame_of_a_capture_and_the_same_in_hex(tmp_path):
    frame = kwire("decode", CAPTURE, "--frames", "33", "-f", "jsonl").out
    data = kwire("encode", stdin=frame.encode()).raw
    (tmp_path / "frame.bin").write_bytes(data)
    assert document(f"{CAPTURE}@33", tmp_path / "frame.bin")["verdict"] == "same"


def test_responses_of_which_the_api_is_said():
    response = FRAMES / "metadata-v13-response.hex"
    said = document("--api", "Metadata", "--message-version", "13", response, response)
    assert (said["verdict"], said["a"]["api"]) == ("same", "Metadata")
    guessed = kwire("diff", response, response)
    assert "is a guess; --api and --message-version say what it is" in guessed.err


def test_what_is_ignored():
    assert document("--ignore", "header", CAPTURE, "--frames", "33,35")["counts"] == {"changed": 1}
    assert (
        document("--ignore", "header.correlationId", "--ignore", "memberId", CAPTURE, "--frames", "33,35")["verdict"]
        == "same"
    )
    assert document("--ignore", "topics[].name", *BODY, ONE, "000000020001740001740001")["counts"] == {"added": 2}
    assert kwire("diff", "--ignore", "topics", "--exit-code", *BODY, ONE, OTHER).code == 0


def test_a_secret_in_other_bytes_is_not_told():
    bodies = ("00000003616263", "0000000361626300")
    done = kwire("diff", "-m", "SaslAuthenticateRequest", "--message-version", "0", *bodies)
    assert "00" not in done.out.split("gap")[1].split("(")[0].replace("redacted", "")
    assert "61" not in done.out.replace("61 bytes", "")


def test_many_differences_are_cut_and_full_shows_them():
    a, b = (
        encode({"topics": [{"name": f"{name}{n}"} for n in range(80)]}, message="MetadataRequest", version=1).hex()
        for name in "ab"
    )
    short, full = kwire("diff", *BODY, a, b).out, kwire("diff", "--full", *BODY, a, b).out
    assert "… 60 more differences; --full shows all" in short
    assert (short.count("\n- ") + short.count("\n+ "), full.count("\n- ") + full.count("\n+ ")) == (100, 160)
    assert short.endswith("80 removed, 80 added\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("/nowhere/at/all", ONE), "does not exist"),
        (("--frames", "1,2,3", CAPTURE), "--frames takes two numbers"),
        (("--frames", "1,2", CAPTURE, CAPTURE), "--frames takes two numbers"),
        (("--frames", "0,1", CAPTURE), "there is no frame 0"),
        ((*BODY, CAPTURE, CAPTURE), "--message is for bare bodies"),
        ((*BODY, ONE, "zz"), "no bytes were recognised"),
        (("-m", "NoRequest", "--message-version", "1", ONE, ONE), "NoRequest"),
    ],
)
def test_what_can_not_be_compared(arguments, said):
    assert said in refusal_of("diff", *arguments)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("header.corelationId", "no field of a frame's header is called corelationId; did you mean correlationId?"),
        ("topics[0].name", "a path has no indexes: topics.partitions, not topics[0].name"),
        ("header correlationId", "expected the name of a column or field, found 'header correlationId'"),
    ],
)
def test_a_field_to_ignore_that_no_message_has_is_refused(name, reason):
    frame = "samples/frames/metadata-v0-request.hex"
    assert f"--ignore: {reason}" in refusal_of("diff", frame, frame, "--ignore", name)


@pytest.mark.parametrize("name", ["records.records.value.card.number", "topics[].name", "header", "body.topics"])
def test_paths_to_ignore_may_have_marks_of_arrays_and_lead_into_values(name):
    frame = "samples/frames/metadata-v0-request.hex"
    assert kwire("diff", "--value", "json", frame, frame, "--ignore", name).code == 0
