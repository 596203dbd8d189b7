"""kwire diff of two messages: where they come from, and what of them is compared; what it prints is in
golden/diff-messages.txt.
"""

from kit.commands import ROOT, json_of, kwire

from kwire_cli import encode

CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
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


def test_two_frames_of_a_capture():
    one = document(f"{CAPTURE}@33", f"{CAPTURE}@35")
    assert (one["a"]["api"], one["a"]["version"], one["a"]["size"]) == ("JoinGroup", 7, 144)
    assert [each["path"] for each in one["differences"]] == ["header.correlationId", "memberId"]


def test_a_frame_of_a_capture_and_the_same_in_hex(tmp_path):
    frame = kwire("decode", CAPTURE, "--frames", "33", "-f", "jsonl").out
    data = kwire("encode", stdin=frame.encode()).raw
    (tmp_path / "frame.bin").write_bytes(data)
    assert document(f"{CAPTURE}@33", tmp_path / "frame.bin")["verdict"] == "same"


def test_many_differences_are_cut_and_full_shows_them():
    a, b = (
        encode({"topics": [{"name": f"{name}{n}"} for n in range(80)]}, message="MetadataRequest", version=1).hex()
        for name in "ab"
    )
    short, full = kwire("diff", *BODY, a, b).out, kwire("diff", "--full", *BODY, a, b).out
    assert "… 60 more differences; --full shows all" in short
    assert (short.count("\n- ") + short.count("\n+ "), full.count("\n- ") + full.count("\n+ ")) == (100, 160)
    assert short.endswith("80 removed, 80 added\n")
