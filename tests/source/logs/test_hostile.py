import json

import pytest
from hypothesis import given, strategies as st

from kwire_cli.source.logs.contents import READABLE, read_contents
from kwire_cli.source.logs.model import FileName, file_name, folder_name

ODD = (b"a\\", b"\\u12", b"\xff", b"", b"#", b'{"data_version":1}')
LINES = st.lists(st.sampled_from([b"0", b"1", b"2 3", b"t 0 5", b"version=1", b"version: 0", *ODD]))
TEXTS = st.builds(lambda end, rows: end.join(rows), st.sampled_from([b"\n", b"\r\n", b"\r"]), LINES)


@pytest.mark.parametrize("kind", sorted(READABLE))
@given(
    data=st.binary(max_size=300) | TEXTS | st.binary(max_size=40).map(lambda data: data + bytes(100)),
    base=st.none() | st.integers(0, 2**63 - 1),
)
def test_any_bytes_are_accounted_for(kind, data, base):
    read = read_contents(data, FileName(kind, base))
    at = 0
    for piece in read.pieces:
        assert piece.position == at
        assert piece.size > 0
        at += piece.size
    assert at == len(data)
    assert all(0 <= note.offset <= len(data) for note in read.anomalies)
    json.dumps(read.to_json(), ensure_ascii=False).encode()
    lines = list(read.lines())
    assert len(lines) == len(read.entries) + sum(piece.kind in {"padding", "gap"} for piece in read.pieces)


@given(
    name=st.text(max_size=60)
    | st.from_regex(r"[0-9]{19,21}[-_.a-z]*\.(log|index|checkpoint)(\.deleted)*", fullmatch=True)
)
def test_any_name(name):
    file_name(name)
    folder_name(name)
