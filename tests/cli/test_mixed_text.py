"""A text that holds record batches and frames is shown as both, in whatever order they stand; no command takes one for
the other.
"""

import json

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples, kwire, refusal_of
from kit.logs import batch, record
from kit.traffic import Wire

import kwire_cli


def line(kind, number):
    data = (
        batch(number, [record(b"k", b"v", 0)])
        if kind == "batch"
        else Wire.request("FindCoordinator", 3, number, "c", key="k1")
    )
    return f"[2026-11-21 11:05:4{number}] DEBUG {kind} {data.hex()}\n"


def text(kinds):
    return "".join(line(kind, number) for number, kind in enumerate(kinds)).encode()


def lines(kinds, kind):
    numbers = [str(at) for at, each in enumerate(kinds, 1) if each == kind]
    return f"line {numbers[0]} holds" if len(numbers) == 1 else f"lines {', '.join(numbers)} hold"


@examples(20)
@given(st.lists(st.sampled_from(["batch", "frame"]), min_size=2, max_size=5))
def test_each_piece_is_shown_as_what_it_is(kinds):
    done = kwire("decode", "--format", "jsonl", "-", stdin=text(kinds))
    assert done.code == 0, done.err
    shown = [json.loads(one) for one in done.out.splitlines()]
    assert [one["baseOffset"] for one in shown if "baseOffset" in one] == [
        at for at, kind in enumerate(kinds) if kind == "batch"
    ]
    frames = [at for at, kind in enumerate(kinds) if kind == "frame"]
    assert [one["header"]["correlationId"] for one in shown if "header" in one] == frames
    assert [one["label"].partition(":")[0] for one in shown if "header" in one] == [f"line {at + 1}" for at in frames]
    assert ("baseOffset" in shown[0]) == (kinds[0] == "batch")
    if len({*kinds}) == 2:
        assert f"{lines(kinds, 'batch')} record batches" in done.err
        assert f"{lines(kinds, 'frame')} requests and responses" in done.err
    else:
        assert "shown in this order" not in done.err


@pytest.mark.parametrize("fmt", ["tree", "hex", "json"])
def test_every_format_shows_both(fmt):
    done = kwire("decode", "--format", fmt, "-", stdin=text(["frame", "batch", "frame"]))
    assert done.code == 0, done.err
    assert "FindCoordinator" in done.out
    assert "batch" in done.out or "baseOffset" in done.out


def test_whoever_takes_one_kind_names_the_lines(tmp_path):
    file = tmp_path / "mixed.log"
    file.write_bytes(text(["batch", "frame", "batch"]))
    reason = (
        "lines 1, 3 hold record batches and line 2 holds requests and responses; the tree, hex and JSON of "
        "kwire decode show each as what it is"
    )
    for command in (("explain",), ("tui",), ("compare",)):
        assert reason in refusal_of(*command, file)
    with pytest.raises(kwire_cli.InputError) as error:
        [*kwire_cli.read_frames(str(file))]
    assert reason in str(error.value)


def test_an_option_of_one_kind_is_refused_for_the_other():
    done = kwire("decode", "--filter", "count == 1", "-", stdin=text(["batch", "frame"]))
    reason = "--filter is for packet captures and record batches, and standard input is requests and responses"
    assert (done.code, reason in done.err) == (2, True)
