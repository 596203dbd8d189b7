"""What is a request log is decided by the form of its lines, in one place, for every command."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from kit.logs import document, line

from kwire_cli.source.files import OPENING
from kwire_cli.source.kinds import Kind
from kwire_cli.source.recognition import begins_as
from kwire_cli.source.request_log.lines import is_request_log

ROOT = Path(__file__).parents[3]
QUOTED = line().decode()
WRAPPED = json.dumps({"@timestamp": "2026-11-21T10:00:00Z", "log.level": "DEBUG", "message": QUOTED}).encode() + b"\n"
BARE = json.dumps(document()).encode() + b"\n"
OTHERS = (
    b"[2026-11-21 10:00:00,000] INFO Loading (kafka.log.LogManager)\njava.io.IOException: no\n\tat "
    b"kafka.Kafka.main\nCaused by: x\n"
)
OLD = (
    b"[2016-01-01 10:00:00,000] TRACE Completed request:Name: FetchRequest; Version: 0 from connection "
    b"a;totalTime:1 (kafka.request.logger)\n"
)
PROSE = st.text(st.characters(exclude_categories=("C",), exclude_characters="{"), min_size=3, max_size=60).filter(
    lambda text: text[0].isalpha()
)


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("samples/**/*.md")], ids=lambda page: page.name
)
def test_no_page_of_prose_is_one(page):
    assert begins_as(str(page)) is not Kind.REQUEST_LOG


@pytest.mark.parametrize(
    "said", ["Completed request:", f"look for `{QUOTED.strip()}` in it", '{"requestHeader": …} is what we want', QUOTED]
)
@given(st.lists(PROSE, min_size=2, max_size=8), st.integers(0, 8))
def test_a_text_that_names_or_quotes_a_line_is_none(said, lines, at):
    text = "\n".join([*lines[:at], said.rstrip("\n"), *lines[at:]])
    assert not is_request_log(text.encode())


@pytest.mark.parametrize(
    "one", [line(), BARE, WRAPPED, OLD, b"Completed request:" + BARE], ids=["kafka", "bare", "wrapped", "old", "alone"]
)
def test_every_layout_with_what_other_loggers_write(one):
    assert is_request_log(one)
    for whole in (one * 3, OTHERS * 9 + one, one + OTHERS * 9, OTHERS + b"\n" + one.replace(b"\n", b"\r\n")):
        assert is_request_log(whole)
        assert is_request_log(gzip.compress(whole))


@pytest.mark.parametrize("one", [line(), BARE, b"Completed request:" + BARE], ids=["kafka", "bare", "alone"])
def test_a_line_longer_than_what_is_looked_at(one):
    long = one.replace(b'"request": {', b'"request": {"name": "' + b"x" * OPENING + b'", ')
    assert len(long) > OPENING
    assert is_request_log(long[:OPENING])
    assert is_request_log(OTHERS + long[:OPENING])


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_nothing_breaks(data):
    for front in (b"", b"Completed request:", b'{"requestHeader"', QUOTED.encode()[:80]):
        is_request_log(front + data)
