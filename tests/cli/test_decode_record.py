"""A value of an internal topic, pasted without its batch."""

import json

from kit.commands import kwire


def test_a_value_alone_is_read_although_nobody_says_what_it_is():
    done = kwire("decode", "-f", "jsonl", "-", stdin=b"0004000000000021d4a8ffffffff010000019964f2d83600")
    assert json.loads(done.out)["body"]["offset"] == 2217128
    assert "--message OffsetCommitValue says it outright" in done.err
