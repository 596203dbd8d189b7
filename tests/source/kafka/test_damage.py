"""The samples with packets lost, cut, repeated, overlapping, in another order and damaged, through the whole chain:
from the capture file to lines.

The frames that remain whole are found and decoded the same; every byte is in a line; nothing crashes. The only
exception, as `Original.whole` has it: frames behind a loss that costs the framing, as they are found by what they look
like.
"""

import io
import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from hypothesis import Phase, given, strategies as st
from kit.captures import MASK, capture_of, cut, lost, overlapping, packet_of, reordered, repeated, shuffled
from kit.commands import examples
from kit.traffic import pcap_file

import kwire_cli
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import Data, Gap, endpoints, turned
from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs.network import ACK, FIN, SYN

SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "captures"
PORTS = {
    "ipv6.pcap": 19096,
    "kafka-python-4.4.0.pcapng": 19092,
    "midstream.pcap": 19092,
    "sarama-0.8.2.0-3.9.2.pcapng": 19392,
}
EVERY = [*PORTS, "not-kafka.pcapng"]
CATALOG = kwire_cli.catalog()
PLACE = {"frame", "time", "packet", "stream", "requestFrame", "latency", "topics"}

# Examples are whole captures: what fails is shown by its seed, and shrinking a seed says nothing.
SEEDS = examples(10, phases=(Phase.explicit, Phase.generate))
DICE = st.integers(0, 2**32).map(random.Random)


@dataclass
class Frame:
    """A line of the original: where its bytes stand in its stream."""

    start: int
    end: int
    line: object
    request: "Frame | None"


@dataclass
class Stream:
    """What one side of a connection said. `first` is the sequence number of its first byte."""

    ends: bytes
    first: int
    data: bytearray = field(default_factory=bytearray)
    frames: list[Frame] = field(default_factory=list)

    def place(self, segment):
        """The position of the segment's first byte of payload, which may lie before the first one."""
        place = (segment.sequence + bool(segment.flags & SYN) - self.first) & MASK
        return place - (MASK + 1) if place > MASK // 2 else place


class Original:
    """A capture of which every byte is there, and no two connections of which have the same ends. `read` makes lines of
    a Capture.
    """

    def __init__(self, path, read):
        self.segments = list(Segments()(packets(path)))
        self.streams = {}
        for ends in dict.fromkeys(segment.ends for segment in self.segments):
            own = [segment for segment in self.segments if segment.ends == ends]
            starts = [segment.sequence + 1 for segment in own if segment.flags & SYN] or [
                segment.sequence for segment in own if segment.payload
            ]
            stream = self.streams[ends] = Stream(ends, min(starts, default=own[0].sequence) & MASK)
            for segment in own:
                stream.data[stream.place(segment) : stream.place(segment) + len(segment.payload)] = segment.payload
        by_text = {tuple(map(str, endpoints(ends))): stream for ends, stream in self.streams.items()}
        frames = {}
        for line in read(Capture(path)):
            stream = by_text[line.src, line.dst]
            start = stream.frames[-1].end if stream.frames else 0
            request = frames[line.request.number] if line.request else None
            frames[line.number] = Frame(start, start + line.seen.size, line, request)
            stream.frames.append(frames[line.number])

    def there(self, segments):
        """Which bytes of each stream these segments have: 1 or 0 by position. What was cut off a packet is gone, though
        a later one may have it.
        """
        out = {ends: bytearray(b"?" * len(stream.data)) for ends, stream in self.streams.items()}
        for segment in segments:
            at = self.streams[segment.ends].place(segment)
            middle, end = at + len(segment.payload), at + len(segment.payload) + segment.missing
            known = out[segment.ends]
            known[at:middle] = known[at:middle].replace(b"?", b"\1")
            known[middle:end] = known[middle:end].replace(b"?", b"\0")
        return {ends: known.replace(b"?", b"\0") for ends, known in out.items()}

    def whole(self, there):
        """The frames of which every byte is there, as two lists: those that must be found, and those behind a loss of
        framing.

        A frame that lacks bytes behind its size costs itself alone, unless the loss reaches into the next frame: then
        nobody knows how many frames were in it, and their beginning has to be recognised. The same holds for a stream
        that was seen from its middle on alone.
        """
        found, doubtful = [], []
        for ends, stream in self.streams.items():
            known, held = there[ends], self._begins(stream, there)
            for frame in stream.frames:
                part = known[frame.start : frame.end]
                if all(part):
                    (found if held else doubtful).append(frame)
                elif not all(part[:4]) or not (part[-1] or frame.end == len(known) or known[frame.end]):
                    held = False
        return found, doubtful

    def _begins(self, stream, there):
        """Whether framing is sure from the start: by a handshake, or because the first question and the first answer
        are whole.
        """
        if any(segment.flags & SYN for segment in self.segments if segment.ends == stream.ends):
            return True
        firsts = [
            (ends, self.streams[ends].frames[:1]) for ends in (stream.ends, turned(stream.ends)) if ends in self.streams
        ]
        return all(all(there[ends][frame.start : frame.end]) for ends, frames in firsts for frame in frames)

    def extents(self, segments):
        """How many bytes each stream has for sure, by sequence numbers, and how many at most. One without handshake
        begins with what was seen.
        """
        out = {}
        for ends, stream in self.streams.items():
            own = [segment for segment in segments if segment.ends == ends]
            ended = [
                stream.place(segment) + len(segment.payload) + segment.missing
                for segment in own
                if segment.payload or segment.missing or segment.flags & FIN
            ]
            began = [stream.place(segment) for segment in own if segment.payload or segment.missing]
            answers = [
                segment
                for segment in segments
                if segment.ends == turned(ends) and segment.flags & SYN and segment.flags & ACK
            ]
            opened = answers or any(segment.flags & SYN for segment in own)
            out[ends] = max(ended) - (0 if opened else min(began)) if began else 0, len(stream.data)
        return out


def in_samples(names):
    """All of these in `make check`, the smallest in every run."""
    slow = {name: pytest.mark.slow for name in names if not name.startswith("sarama")}
    return pytest.mark.parametrize("name", [pytest.param(name, marks=slow.get(name, ())) for name in names])


@cache
def original(name):
    return Original(SAMPLES / name, lambda capture: list(traffic(CATALOG, capture)))


def identity(line):
    return line.src, line.dst, line.kind, bytes(line.seen.data)


def pair(line):
    """A line and its request."""
    return identity(line), identity(line.request) if line.request else None


def content(line):
    """What a frame says, without where and when."""
    return repr([(key, value) for key, value in line.to_json().items() if key not in PLACE])


def damaged(whole, dice, *, losses):
    """The segments after some of all that can happen to them."""
    share = dice.choice([0.01, 0.03, 0.1, 0.3])
    segments = whole.segments
    if dice.random() < 0.5:
        segments = overlapping(segments, dice, share, whole.streams)
    if losses:
        segments = cut(lost(segments, dice, share / 2), dice, share / 2)
    if dice.random() < 0.5:
        segments = repeated(segments, dice, share)
    if dice.random() < 0.5:
        segments = shuffled(segments, dice, dice.randint(1, 8))
    return segments


def check_every_byte(whole, segments, lines):
    """Each stream's bytes, counted by sequence numbers, are in its lines."""
    shown = Counter()
    for line in lines:
        shown[line.src, line.dst] += line.seen.size
    for ends, (least, most) in whole.extents(segments).items():
        # A FIN that was not captured is one byte more: docs/captures.md.
        assert least <= shown[tuple(map(str, endpoints(ends)))] <= most + 1


def missing(frames, lines):
    """The frames that are not among the lines."""
    found = Counter(identity(line) for line in lines)
    return [frame for frame in frames if not found[identity(frame.line)]]


def check_decoded_the_same(frames, lines):
    by_identity = {identity(line): line for line in lines}
    sure = {id(frame) for frame in frames}
    for frame in frames:
        if frame.line.kind == "request" or (frame.request and id(frame.request) in sure):
            assert content(by_identity[identity(frame.line)]) == content(frame.line)


@in_samples(EVERY)
@SEEDS
@given(DICE)
def test_without_losses_all_lines_are_the_same(name, dice):
    whole = original(name)
    segments = damaged(whole, dice, losses=False)
    lines = list(traffic(CATALOG, capture_of(segments)))
    assert Counter(map(content, lines)) == Counter(
        content(frame.line) for stream in whole.streams.values() for frame in stream.frames
    )
    check_every_byte(whole, segments, lines)


@in_samples(EVERY)
@SEEDS
@given(DICE)
def test_reordered_within_40_packets_all_frames_and_pairs_are_the_same(name, dice):
    """Handshakes move like all other packets: a SYN-ACK behind data, and data before a SYN, decide nothing early."""
    whole = original(name)
    segments = repeated(whole.segments, dice, dice.choice([0, 0.1, 0.5]))
    segments = reordered(segments, dice, dice.choice([2, 8, 24, 40]))
    lines = list(traffic(CATALOG, capture_of(segments)))
    expected = [frame.line for stream in whole.streams.values() for frame in stream.frames]
    assert Counter(map(content, lines)) == Counter(map(content, expected))
    assert Counter(map(pair, lines)) == Counter(map(pair, expected))
    for ends, stream in whole.streams.items():
        said = tuple(map(str, endpoints(ends)))
        in_order = [identity(line) for line in lines if (line.src, line.dst) == said and line.is_frame]
        assert in_order == [identity(frame.line) for frame in stream.frames if frame.line.is_frame]


@in_samples(PORTS)
@SEEDS
@given(DICE)
def test_frames_that_remain_whole_are_found_and_decoded_the_same(name, dice):
    whole = original(name)
    segments = damaged(whole, dice, losses=True)
    lines = list(traffic(CATALOG, capture_of(segments)))
    frames, _ = whole.whole(whole.there(segments))
    assert [frame.line.number for frame in missing(frames, lines)] == []
    check_decoded_the_same(frames, lines)
    check_every_byte(whole, segments, lines)


@in_samples(PORTS)
@SEEDS
@given(DICE)
def test_nobody_is_taken_for_the_other_side(name, dice):
    """The side that opened a connection is the client, whatever of its requests is lost."""
    segments = damaged(original(name), dice, losses=True)
    opened = {str(end) for segment in segments if segment.flags & SYN for end in endpoints(segment.ends)}
    port = f":{PORTS[name]}"
    for line in traffic(CATALOG, capture_of(segments)):
        assert line.kind in {"request", "response", "gap"}
        if not opened & {line.src, line.dst} - {end for end in (line.src, line.dst) if end.endswith(port)}:
            continue
        assert line.kind == "gap" or (line.dst if line.kind == "request" else line.src).endswith(port)


@pytest.mark.slow
def test_most_frames_behind_a_loss_of_framing_are_found_too():
    """All but those before which, in what is left of a cut frame, bytes look like a frame themselves."""
    doubtful, missed = Counter(), Counter()
    for name in PORTS:
        whole = original(name)
        for seed in range(10):
            segments = damaged(whole, random.Random(seed), losses=True)
            lines = list(traffic(CATALOG, capture_of(segments)))
            for kind in ("request", "response"):
                frames = [frame for frame in whole.whole(whole.there(segments))[1] if frame.line.kind == kind]
                doubtful[kind] += len(frames)
                missed[kind] += len(missing(frames, lines))
    for kind, share in (("request", 0.999), ("response", 0.995)):
        assert doubtful[kind] > 250
        assert 1 - missed[kind] / doubtful[kind] >= share


@in_samples(PORTS)
@SEEDS
@given(DICE)
def test_a_damaged_frame_costs_no_other(name, dice):
    """Bytes behind size and header are changed: what size and header say is what finds the next frame, and the
    answer.
    """
    whole = original(name)
    share, hit, segments = dice.choice([0.02, 0.2]), set(), []
    for segment in whole.segments:
        payload, stream = bytearray(segment.payload), whole.streams[segment.ends]
        for frame in stream.frames:
            at = dice.randrange(frame.start, frame.end)
            place = at - stream.place(segment)
            if dice.random() < share and at - frame.start >= 60 and 0 <= place < len(payload):
                payload[place] ^= dice.randrange(1, 256)
                hit.add(id(frame))
        segments.append(segment._replace(payload=bytes(payload)))
    lines = list(traffic(CATALOG, capture_of(segments)))
    frames = [frame for stream in whole.streams.values() for frame in stream.frames if id(frame) not in hit]
    assert missing(frames, lines) == []
    check_decoded_the_same(frames, lines)
    assert len(lines) == sum(len(stream.frames) for stream in whole.streams.values())


@in_samples(EVERY)
@SEEDS
@given(DICE)
def test_bytes_damaged_anywhere_crash_nothing(name, dice):
    """Any byte of any packet or of the file: headers, lengths, sequence numbers, flags, payload."""
    whole = original(name)
    data = [
        packet_of(segment, number) for number, segment in enumerate(damaged(whole, dice, losses=dice.random() < 0.5), 1)
    ]
    file = bytearray(pcap_file(data))
    first = 24 if dice.random() < 0.9 else 4
    for _ in range(dice.choice([1, 10, 100, 1000])):
        file[dice.randrange(first, len(file))] = dice.randrange(256)
    capture = Capture(io.BytesIO(bytes(file)))
    counted, shown = Counter(), Counter()

    def events():
        for event in capture:
            if isinstance(event, Data):
                counted[event.connection] += len(event.data)
            elif isinstance(event, Gap):
                counted[event.connection] += event.size
            yield event

    for line in traffic(CATALOG, events()):
        shown[line.stream] += line.seen.size
        document = line.to_json()
        assert line.kind == document["kind"]
        assert set(line.anomalies) == {
            document.get("code"),
            *(anomaly["code"] for anomaly in document.get("anomalies", ())),
        } - {None}
    assert +shown == +counted
