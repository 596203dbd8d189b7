"""The hex view: every byte once, in order, in both columns; nothing hidden where nothing is secret."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from kit.messages import sample

import kwire_cli
from kwire_cli.message.decoded import decode
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all
from kwire_cli.message.secrets import hidden_in_frame, hidden_spans
from kwire_cli.view.hex import HexForm, frame_lines, message_lines
from kwire_cli.view.lines import STYLES, plain, printable

CATALOG = kwire_cli.catalog()
NAMES = sorted(entry.name for entry in CATALOG if entry.valid_versions)


def rows(lines):
    """Offset, bytes and text of every row of bytes."""
    for line in lines:
        text = plain(line)
        if not re.match(r"[0-9a-f]{8}  ", text):
            continue
        cells = text[10:57]
        assert len(cells) == 47
        yield int(text[:8], 16), cells.split(), text[59:75]


def check(lines, data, start=0):
    at = start
    for offset, cells, text in rows(lines):
        assert offset == at
        raw = bytes.fromhex("".join(cells))
        assert raw == data[at : at + len(raw)]
        assert text[: len(raw)] == printable(raw)
        assert text[len(raw) :].strip() == ""
        at += len(raw)
    assert at == len(data)


@given(st.data())
def test_every_byte_of_a_body_is_shown_once_in_order(data):
    name = data.draw(st.sampled_from(NAMES))
    version = data.draw(st.sampled_from([*CATALOG.entry(name).valid_versions.each()]))
    raw = data.draw(st.binary(max_size=200))
    decoded = decode(CATALOG, raw, name, version)
    check(message_lines(CATALOG, decoded, frozenset(), form=HexForm()), raw)


@given(
    st.binary(min_size=1, max_size=120),
    st.sampled_from([None, "request", "response"]),
    st.sampled_from([None, True, False]),
)
def test_every_byte_of_frames_is_shown_once_in_order(raw, kind, framed):
    at = 0
    for frame in read_all(CATALOG, raw, Hints(kind=kind), framed=framed):
        check(frame_lines(CATALOG, frame, {}, form=HexForm()), raw[: frame.stop], start=at)
        at = frame.stop
    assert at == len(raw)


@pytest.mark.parametrize("row", sample(), ids=str)
def test_golden_bodies_are_shown_whole(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    check(message_lines(row.catalog, decoded, frozenset(), form=HexForm()), row.body)
    hidden = hidden_spans(row.catalog, decoded)
    shown = [*rows(message_lines(row.catalog, decoded, hidden, form=HexForm()))]
    # Secrets take as much room as they would without being hidden.
    assert sum(len(cells) for _, cells, _ in shown) == len(row.body)
    assert [cell == "**" for _, cells, _ in shown for cell in cells] == hidden_bytes(decoded, hidden)
    assert all(text[i] == "*" for _, cells, text in shown for i, cell in enumerate(cells) if cell == "**")


def hidden_bytes(decoded, hidden):
    masked = [False] * len(decoded.data)
    for span in hidden:
        masked[decoded.raw.value[span] : decoded.raw.end[span]] = [True] * (
            decoded.raw.end[span] - decoded.raw.value[span]
        )
    return masked


def test_long_fields_are_cut_and_the_rest_is_counted():
    body = kwire_cli.encode({"key": "x" * 100}, message="FindCoordinatorRequest", version=0)
    decoded = kwire_cli.decode(body, message="FindCoordinatorRequest", version=0)
    shown = [plain(line) for line in message_lines(CATALOG, decoded, frozenset(), form=HexForm(4))]
    assert len(shown) == 6
    assert shown[-1].strip() == "… 38 more bytes"


def test_both_columns_and_the_path_of_a_field_have_one_colour_and_neighbours_have_others():
    value = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}
    body = kwire_cli.encode(value, message="HeartbeatRequest", version=4)
    decoded = kwire_cli.decode(body, message="HeartbeatRequest", version=4)
    _, *shown = message_lines(CATALOG, decoded, frozenset(), form=HexForm())
    colours = []
    for (_, _), (_, cells), (_, text), (_, _), (_, path), *_ in shown:
        assert cells == text == path
        colours.append(cells)
    assert len(colours) == 5
    assert all(a != b for a, b in pairwise(colours))
    assert all(STYLES[colour] != STYLES[other] for colour, other in pairwise(colours))


def test_a_secret_keeps_its_length_prefix_and_hides_both_columns():
    [frame] = read_all(CATALOG, bytes.fromhex("0000000f 0024 0002 00000001 ffff 00 03 6869 00"), Hints())
    shown = [*map(plain, frame_lines(CATALOG, frame, hidden_in_frame(CATALOG, frame), form=HexForm()))]
    [line] = [text for text in shown if "authBytes" in text]
    assert line.split() == ["0000000f", "03", "**", "**", ".**", "authBytes", "=", "<redacted", "2", "bytes>"]
