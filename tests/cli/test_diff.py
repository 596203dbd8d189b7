"""kwire diff: copies of partitions, folders of them and segments; what it prints is in golden/diff.txt."""

import shutil

import pytest
from kit.commands import json_of, kwire
from kit.logs import SEGMENTS, segments

FILE = "00000000000000000000.log"


@pytest.fixture
def copies(tmp_path):
    """Two log directories with the same two partitions."""
    for broker in ("a", "b"):
        for name in ("orders-zstd-0", "txn-out-0"):
            shutil.copytree(SEGMENTS / name, tmp_path / broker / name)
    return tmp_path / "a", tmp_path / "b"


def partitions(a, b):
    """The rows of the table of partitions."""
    return json_of("diff", a, b)["tables"]["partitions"]


def test_copies_are_the_same(copies):
    done = kwire("diff", *copies, "--exit-code")
    assert (done.code, [row["verdict"] for row in partitions(*copies)]) == (0, ["same", "same"])
    assert "first" not in done.out.partition("verdict")[2]


def test_exit_code_is_asked_for(copies):
    a, b = copies
    (b / "txn-out-0" / FILE).write_bytes(segments()["txn-out-0"][:385])
    assert kwire("diff", a, b).code == 0
    assert kwire("diff", a, b, "--exit-code").code == 0  # a copy that lags
    (b / "txn-out-0" / FILE).write_bytes(segments()["txn-out-0"][:380])
    assert kwire("diff", a, b, "--exit-code").code == 1


def test_one_row_for_each_partition(copies):
    a, b = copies
    shutil.rmtree(b / "txn-out-0")
    shutil.copytree(SEGMENTS / "bitflip-0", b / "bitflip-0")
    found = [(row["path"].rsplit("/", 1)[1], row["verdict"], row["firstKind"]) for row in partitions(a, b)]
    assert found == [
        ("orders-zstd-0", "same", None),
        ("txn-out-0", "legal", "LONGER"),
        ("bitflip-0", "diverges", "CORRUPT"),
    ]


def test_two_folders_need_no_common_name(copies):
    a, b = copies
    shutil.move(b / "txn-out-0", b / "before")
    assert [row["verdict"] for row in partitions(a / "txn-out-0", b / "before")] == ["same"]
