import pytest
from hypothesis import given, strategies as st

from kwire_cli.message.frames import MAX_SIZE
from kwire_cli.source.kafka.framing import MAX_UNRECOGNISED, Framer

MARK = b"KWIRE"
BODIES = [MARK + bytes([n]) * size for n, size in enumerate((0, 1, 30, 7, 200, 3), 1)]
FRAMES = [len(body).to_bytes(4, "big") + body for body in BODIES]
WHOLE = b"".join(FRAMES)


class Search:
    """A frame begins where its body begins with the mark."""

    def __init__(self):
        self.start = 0

    def restart(self, at):
        self.start = at

    def skip(self, count):
        self.start -= count

    def find(self, buffer, *, last=False):  # noqa: ARG002 - the real one's
        at = buffer.find(MARK, self.start + 4)
        if at < 0:
            self.start = max(self.start, len(buffer) - len(MARK) - 3)
        return at - 4 if at >= 0 else -1 - self.start

    def believes(self, buffer, at):
        return buffer[at + 4 :].startswith(MARK)

    def oversize(self, buffer, at):
        known = bytes(buffer[at + 4 : at + 4 + len(MARK)])
        return None if len(known) < len(MARK) and MARK.startswith(known) else known == MARK


class Framed(Framer):
    """Frames that are found so."""

    def __init__(self, *, synchronised):
        super().__init__(None, 0, synchronised=synchronised)
        self._lazy_search = Search()


def framed(pieces, *, synchronised=True):
    """What framing makes of bytes and losses (numbers)."""
    framer, cuts = Framed(synchronised=synchronised), []
    for number, piece in enumerate(pieces, 1):
        act = framer.lose if isinstance(piece, int) else framer.feed
        cuts += act(piece, number, number * 1000)
    return [*cuts, *framer.end()]


def whole(cuts):
    return [cut.data for cut in cuts if cut.kind == "frame" and not cut.missing]


def test_a_frame_has_the_packet_and_time_of_its_last_byte():
    (cut,) = framed([FRAMES[2][:10], FRAMES[2][10:20], FRAMES[2][20:]])
    assert (cut.packet, cut.time) == (3, 3000)


def test_a_frame_of_no_bytes():
    assert whole(framed([bytes(4) + FRAMES[0]])) == [bytes(4), FRAMES[0]]


def test_loss_inside_a_frame_costs_that_frame_alone():
    cuts = framed([FRAMES[0] + FRAMES[4][:50], 100, FRAMES[4][150:] + FRAMES[1]])
    assert whole(cuts) == [FRAMES[0], FRAMES[1]]
    cut, lost, rest = cuts[1:4]
    assert (cut.kind, cut.data, cut.missing) == ("frame", FRAMES[4][:50], len(FRAMES[4]) - 50)
    assert (lost.kind, lost.data, lost.missing) == ("lost", b"", 100)
    assert (rest.kind, rest.data) == ("skipped", FRAMES[4][150:])


def test_loss_to_the_very_end_of_a_frame():
    # What comes next need not be recognised: the prefix said where the frame ends.
    plain = bytes([0, 0, 0, 2, 9, 9])
    cuts = framed([FRAMES[4][:50], len(FRAMES[4]) - 50, plain])
    assert [cut.data for cut in cuts] == [FRAMES[4][:50], b"", plain]


def test_what_is_left_at_the_end():
    (cut,) = framed([FRAMES[4][:50]])
    assert (cut.kind, cut.missing) == ("frame", len(FRAMES[4]) - 50)
    (rest,) = framed([FRAMES[4][:3]])
    assert (rest.kind, rest.data, rest.missing) == ("skipped", FRAMES[4][:3], 0)
    assert framed([]) == []


def test_memory_is_bounded_while_no_frame_is_recognised():
    framer = Framed(synchronised=False)
    count = 0
    for _ in range(5):
        count += sum(len(cut.data) for cut in framer.feed(b"x" * MAX_UNRECOGNISED, 1, 0))
        assert len(framer.buffer) <= 2 * MAX_UNRECOGNISED
    assert count + len(framer.buffer) == 5 * MAX_UNRECOGNISED


@st.composite
def cut_and_lossy(draw):
    """Pieces of the stream, some of them replaced by their sizes; and where these pieces lie."""
    ends = sorted(draw(st.sets(st.integers(1, len(WHOLE) - 1), max_size=12)))
    spans = list(zip([0, *ends], [*ends, len(WHOLE)], strict=True))
    lost = draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans)))
    return [(a, b, gone) for (a, b), gone in zip(spans, lost, strict=True)]


@given(cut_and_lossy(), st.booleans())
def test_every_byte_comes_out_once_and_frames_without_loss_whole(spans, synchronised):
    cuts = framed([b - a if gone else WHOLE[a:b] for a, b, gone in spans], synchronised=synchronised)
    assert b"".join(cut.data for cut in cuts) == b"".join(WHOLE[a:b] for a, b, gone in spans if not gone)
    assert sum(cut.missing for cut in cuts if cut.kind == "lost") == sum(b - a for a, b, gone in spans if gone)
    at, wanted = 0, []
    for frame in FRAMES:
        if not any(gone and a < at + len(frame) and b > at for a, b, gone in spans):
            wanted.append(frame)
        at += len(frame)
    assert whole(cuts) == wanted


@given(st.lists(st.one_of(st.binary(max_size=40), st.integers(1, 100)), max_size=12), st.booleans())
def test_every_byte_of_anything_comes_out_once(pieces, synchronised):
    cuts = framed(pieces, synchronised=synchronised)
    assert b"".join(cut.data for cut in cuts) == b"".join(piece for piece in pieces if isinstance(piece, bytes))
    assert sum(cut.missing for cut in cuts if cut.kind == "lost") == sum(
        piece for piece in pieces if isinstance(piece, int)
    )


def test_of_a_request_over_the_limit_the_beginning_is_kept():
    """Framing holds: the rest is skipped, and the next frame is where the size says."""
    size = MAX_SIZE + 1000
    large = size.to_bytes(4, "big") + MARK + bytes(1000)
    framer = Framed(synchronised=True)
    cuts = [*framer.feed(FRAMES[0] + large[:6], 1, 1000), *framer.feed(large[6:], 2, 2000)]
    assert [(cut.kind, cut.data, cut.missing) for cut in cuts] == [
        ("frame", FRAMES[0], 0),
        ("frame", large, size + 4 - len(large)),
    ]
    rest = size + 4 - len(large)
    skipped = [cut for _ in range(rest // (1 << 20)) for cut in framer.feed(bytes(1 << 20), 3, 3000)]
    cuts = list(framer.feed(bytes(rest % (1 << 20)) + FRAMES[1], 4, 4000))
    assert {cut.kind for cut in skipped} == {"skipped"}
    assert [(cut.kind, cut.data) for cut in cuts[1:]] == [("frame", FRAMES[1])]
    assert sum(len(cut.data) for cut in skipped) + len(cuts[0].data) == rest


@pytest.mark.parametrize("begins", [MARK[:3], b"other"])
def test_other_bytes_with_a_size_over_the_limit_are_skipped(begins):
    large = (MAX_SIZE + 1000).to_bytes(4, "big") + begins
    framer = Framed(synchronised=True)
    cuts = [*framer.feed(FRAMES[0] + large, 1, 1000), *framer.end()]
    assert [(cut.kind, cut.data, cut.missing) for cut in cuts] == [("frame", FRAMES[0], 0), ("skipped", large, 0)]
