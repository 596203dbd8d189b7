"""Parts of request logs: wherever they are cut, together they have the lines of the whole, each once and at its
place.
"""

import gzip

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.logs import line

import kwire_cli as kwire
from kwire_cli.source.request_log import reading
from kwire_cli.source.request_log.lines import lines_of
from kwire_cli.source.request_log.reading import LogPart, RequestLog, lines_in, parts_of

CATALOG = kwire.catalog()


@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bc" * 5, b"\n\n"]), max_size=30),
    st.integers(1, 40),
    st.sampled_from([1, 3, 1 << 20]),
)
@examples(90)
def test_parts_have_the_lines_of_the_whole(tmp_path_factory, texts, size, window):
    data = b"".join(texts)
    path = tmp_path_factory.mktemp("log") / "x.log"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_WINDOW", window)
        found = [
            each
            for part in parts_of(str(path), size)
            for each in (lines_in(part) if not part.whole else lines_of([data]))
        ]
    expected = [*lines_of([data])]
    assert [(each.data, each.start) for each in found] == [(each.data, each.start) for each in expected]
    assert all(
        data[each.start :].startswith(each.data) and data[: each.start][-1:] in {b"", b"\n"} for each in expected
    )


def test_packed_logs_and_those_that_can_not_be_read_are_one_part(tmp_path):
    log = tmp_path / "requests.log.gz"
    log.write_bytes(gzip.compress(line() * 100))
    assert parts_of(str(log), 10) == [LogPart(str(log))]
    assert len([*RequestLog(log, CATALOG, LogPart(str(log)))]) == 100
    assert parts_of(str(tmp_path / "none"), 10) == [LogPart(str(tmp_path / "none"))]
