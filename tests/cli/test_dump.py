"""`kwire dump` in ways that golden output can't show: pipes, standard input, long runs, start-up."""

import json
import os
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from kit.commands import Done, examples, kwire, refusal_of
from kit.logs import SEGMENTS, batch, record, segments

import kwire_cli as api

ORDERS = SEGMENTS / "orders-zstd-0" / f"{0:020}.log"


def lines(done: Done):
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("name", sorted(segments()))
def test_lines_are_the_items_of_the_api(name):
    path = next((SEGMENTS / name).iterdir())
    topic = name.rpartition("-")[0]
    expected = [item.to_json() for item in api.read_records(path, topic=topic, show_secrets=True)]
    assert lines(kwire("dump", "--deep", "--show-secrets", path)) == expected
    assert lines(kwire("dump", path)) == [item.to_json(deep=False) for item in api.read_records(path, topic=topic)]


def test_standard_input():
    assert lines(kwire("dump", stdin=ORDERS.read_bytes())) == lines(kwire("dump", ORDERS))
    assert kwire("dump", stdin=b"").code == 0
    assert kwire("dump", stdin=None).code == 2
    assert "an argument is empty" in kwire("dump", "").err  # and not the folder that it is run in


def test_a_name_that_is_no_text_is_refused_and_the_other_files_of_a_folder_are_read(tmp_path):
    for name in (b"a-0", b"\xff-0"):
        path = tmp_path / os.fsdecode(name)
        path.mkdir()
        (path / f"{0:020}.log").write_bytes(batch(0, [record()]))
    done = kwire("dump", tmp_path)
    assert (done.code, len(done.out.splitlines())) == (2, 1)
    assert f"{tmp_path}/\\xff-0/{0:020}.log: its path is not in UTF-8" in done.err
    assert f"{tmp_path}/\\xff-0: its path is not in UTF-8" in refusal_of("dump", path)


def test_a_link_to_nothing_is_named_and_the_other_files_of_a_folder_are_read(tmp_path):
    (tmp_path / f"{0:020}.log").symlink_to("nothing")
    alone = kwire("dump", tmp_path)
    (tmp_path / f"{9:020}.log").write_bytes(batch(9, [record()]))
    done = kwire("dump", tmp_path)
    assert (alone.code, alone.out) == (2, "")
    assert (done.code, len(done.out.splitlines())) == (2, 1)
    assert "it is a link to nothing, which does not exist" in alone.err
    assert done.err == alone.err


def test_secrets_are_hidden_in_every_view():
    path = SEGMENTS / "__cluster_metadata-0"
    secrets = [b"1fmo5vqmk4agyzsq495ij7exfh", b"MWZtbzV2cW1rNGFnanlzcTQ5NWlqN2V4Zmg=", b"31 66 6d 6f 35 76"]
    for form in ("tree", "table", "json", "jsonl", "csv", "hex"):
        for more in ([], ["--full"]):
            shown = kwire("dump", "--deep", "--format", form, *more, path).raw
            assert not any(secret in shown for secret in secrets), (form, more)
    assert any(secret in kwire("dump", "--deep", "--show-secrets", path).raw for secret in secrets)


def test_the_exit_code_says_whether_there_is_an_anomaly():
    assert kwire("dump", SEGMENTS / "bitflip-0").code == 0
    assert kwire("dump", "--strict", SEGMENTS / "bitflip-0").code == 1
    assert kwire("dump", "--strict", SEGMENTS / "garbage-0").code == 1
    assert kwire("dump", "--strict", "--deep", ORDERS).code == 0
    assert kwire("dump", "--strict", stdin=ORDERS.read_bytes() + bytes(4096)).code == 0


def test_limits_count_records_with_deep():
    found = lines(kwire("dump", "--deep", "--top", "3", ORDERS))
    assert [len(line["records"]) for line in found] == [3]
    assert kwire("dump", "--top", "0", ORDERS).out == ""


@examples(90)
@given(
    st.sampled_from(sorted(segments())),
    st.sampled_from(["tree", "table", "json", "jsonl", "csv", "hex"]),
    st.sampled_from(["auto", "auto", "v0", "v1", "v2", "kip98-draft", "kip82-draft"]),
    st.data(),
)
def test_damage_is_shown_and_never_an_error(name, form, record_format, data):
    damaged = bytearray(segments()[name][: data.draw(st.integers(1, 2000))])
    for _ in range(data.draw(st.integers(0, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    topic = name.rpartition("-")[0]
    done = kwire(
        "dump", "--deep", "--format", form, "--record-format", record_format, "--as-topic", topic, stdin=bytes(damaged)
    )
    assert done.code in {0, 2}
    if form == "jsonl":
        assert sum(line["size"] for line in lines(done)) == len(damaged)


def test_a_file_is_named_only_above_what_is_shown_of_it():
    folder = SEGMENTS
    for fmt in ("table", "tree"):
        done = kwire("dump", "--format", fmt, "--offsets", "38-39", folder)
        names = [line for line in done.out.splitlines() if line.endswith((".log:", ".checkpoint:"))]
        assert 0 < len(names) < len([*folder.glob("*/*.log")])
        lines = done.out.splitlines()
        assert all(not after.endswith(".log:") for line, after in pairwise(lines) if line in names)
        assert lines[-1] not in names
