"""What is misspelt, of the wrong kind or not there is said as such, and what is close to it."""

from kit.commands import ROOT, kwire, refusal_of
from kit.logs import batch, record

CAPTURE = "samples/captures/ipv6.pcap"


def test_two_versions_can_stand_in_one_argument():
    both = [kwire("diff", "FetchRequest", *versions).out for versions in (("12", "18"), ("12..18",), ("12-18",))]
    assert both[0] == both[1] == both[2] != ""


def test_a_capture_from_standard_input_is_no_segment_either():
    assert "this is a packet capture" in kwire("dump", stdin=(ROOT / CAPTURE).read_bytes()).err


def test_a_segment_of_another_name_is_told_its_name(tmp_path):
    (tmp_path / "re.bin").write_bytes(batch(0, [record()]))
    assert refusal_of("dump", "--verify", tmp_path / "re.bin").endswith(
        "a segment has to be named as Kafka does, 00000000000000000000.log\n"
    )
    (tmp_path / f"{0:020}.log").write_bytes(batch(0, [record()]))
    assert kwire("dump", "--verify", tmp_path / f"{0:020}.log").code == 0


def test_errors_are_folded_between_words_to_the_width_of_a_terminal():
    command = ("breaking", "3.9", "4.4")
    whole = kwire(*command).err
    for width in (40, 60, 80):
        shown = kwire(*command, terminal=True, variables={"COLUMNS": str(width)}).err
        assert max(map(len, shown.splitlines())) <= width
        assert "".join(shown.split()) == "".join(whole.split())
    assert kwire(*command, terminal=True, variables={"COLUMNS": "400"}).err == whole
