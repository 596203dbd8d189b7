"""Record batches and frames with secrets, damaged in many ways: no view shows a secret or anything decoded from it."""

import base64
import json
import shutil

import pytest
from hypothesis import given, strategies as st
from kit import logs
from kit.commands import examples, slow
from kit.secrets import (
    CATALOG,
    NEWEST,
    SECRET,
    answer_of,
    answered,
    authentication,
    batch_of,
    body_of,
    capture,
    conversation,
    framed,
    misaligned,
    numbers,
    piped as kwire,
    shows,
    sized,
)
from kit.traffic import Wire

import kwire_cli
from kwire_cli.cli.tui import Options, opened_file
from kwire_cli.message.redaction import RecordRedaction
from kwire_cli.records.columns import record_columns
from kwire_cli.records.reading import source_of
from kwire_cli.spec.kafka import CLUSTER_METADATA, CLUSTER_METADATA_ID

FRAMES = [row for row in NEWEST if row[0].endswith(("Request", "Response"))]
RECORDS = [row for row in NEWEST if row[0].endswith("Record")]
TWIN = "V~(%jVq43lPj-}~Kr9Er"
"""Text that differs from SECRET in every byte. A batch with either of them has the same CRC-32C, wherever it stands."""
FORMATS = ("tree", "hex", "json", "jsonl", "table", "csv")
OF_BATCHES = [
    *(["dump", "--deep", "--full", "-f", form] for form in FORMATS),
    *(["dump", "-f", form] for form in FORMATS),
    ["dump", "--deep", "--top", "99", "-f", "jsonl"],
    ["dump", "--deep", "--filter", 'key ~ "[Zq#V~]" or value ~ "[Zq#V~]"', "-f", "jsonl"],
    ["dump", "--state", "-f", "json"],
    ["dump", "--verify", "-f", "json"],
    ["explain"],
    ["explain", "--all"],
    ["explain", "--all", "-f", "json"],
    ["overhead", "-f", "json"],
]
OF_FRAMES = [
    *(["decode", "--full", "-f", form] for form in FORMATS),
    ["decode", "--pairs"],
    ["decode", "--records", "base64", "-f", "jsonl"],
    ["decode", "--records", "size", "-f", "jsonl"],
    ["stats", "-f", "json"],
    ["explain", "--all"],
    ["explain", "--all", "-f", "json"],
    ["overhead", "--by", "field", "-f", "json"],
]

OF_A_FRAME = [*(["decode", "--full", "-f", form] for form in ("tree", "hex", "jsonl")), ["explain", "--all"]]


def segment_file(folder, data):
    path = folder / f"{CLUSTER_METADATA}-0" / "00000000000000000000.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def with_crc(data):
    return logs.with_crc("v2", data)


def in_place(batch):
    """Damages of the header of a batch, by what was done."""
    yield "whole", batch
    for at, bits, what in (
        (17, 0xFF, "crc"),
        (20, 0x01, "crc"),
        (22, 0x04, "compression"),
        (22, 0x20, "control"),
        (22, 0x80, "attributes"),
        (26, 0x81, "last offset"),
        (60, 0x01, "count"),
        (57, 0x7F, "count"),
    ):
        damaged = batch[:at] + bytes([batch[at] ^ bits]) + batch[at + 1 :]
        yield f"{what} {at}", damaged
        if at > 20:
            yield f"{what} {at}, checksum computed anew", with_crc(damaged)


def misplaced(batch):
    """Damages after which the bytes of a batch stand elsewhere, by what was done."""
    yield "magic", batch[:16] + b"\1" + batch[17:]
    size = int.from_bytes(batch[8:12], "big")
    secret = batch.find(SECRET.encode())
    for more in (-30, -2, -1, 1, 2, 30):
        yield f"length {more:+}", batch[:8] + (size + more).to_bytes(4, "big") + batch[12:]
    for gone in (1, 9, 40, 70):
        yield f"without the last {gone}", batch[:-gone]
    for at in {61, 62, 66, 100, max(secret - 3, 61), max(secret - 1, 61)}:
        flipped = batch[:at] + bytes([batch[at] ^ 2]) + batch[at + 1 :]
        without = batch[:8] + (size - 1).to_bytes(4, "big") + batch[12:at] + batch[at + 1 :]
        yield f"bit in byte {at}", flipped
        yield f"bit in byte {at}, checksum computed anew", with_crc(flipped)
        yield f"without byte {at}, checksum computed anew", with_crc(without)


def of_terminal(path):
    """All that the terminal interface has of a file."""
    listing = opened_file(Options(), str(path)).listing
    for _ in listing.read():
        pass
    for number in range(len(listing)):
        look = listing.look(number, full=True)
        yield from ((row.name, row.line, row.json_path) for row in look.rows)
        yield [bytes(buffer.data) for buffer in look.buffers], look.document(), listing.cells(number)
    listing.close()


def views_of_segment(path, commands=OF_BATCHES):
    """All views of a segment, by name."""
    for words in commands:
        done = kwire(*words, path)
        yield " ".join(words), done.out + done.err
    data = path.read_bytes()
    yield "library", json.dumps([item.to_json() for item in kwire_cli.read_records(data, topic=CLUSTER_METADATA)])
    yield "terminal", repr([*of_terminal(path)])
    source = source_of(data, topic=CLUSTER_METADATA, catalog=CATALOG)
    columns = record_columns(source, hide=RecordRedaction(CATALOG))
    yield "columns", repr([part.to_pylist() for part in columns if hasattr(part, "to_pylist")])
    out = path.parent.parent / "sanitized"
    shutil.rmtree(out, ignore_errors=True)
    done = kwire("sanitize", path, "-o", out)
    files = [out] if out.is_file() else [file for file in out.rglob("*") if file.is_file()] if out.is_dir() else []
    yield "sanitized", "".join(file.read_bytes().hex() for file in files) + done.out + done.err


def hold_segment(folder, data, how, commands=OF_BATCHES):
    texts = dict(views_of_segment(segment_file(folder, data), commands))
    for name, text in texts.items():
        assert not shows(text), (how, name)
        assert not numbers(text), (how, name)
    return texts


@pytest.mark.parametrize("row", [RECORDS[0], slow(RECORDS[1])], ids=str)
def test_no_view_of_a_damaged_header_depends_on_the_secret(row, tmp_path):
    """Each damage, in every sixth command: each command meets two damages or three."""
    neighbour = logs.batch(0, [logs.record(value=b"x")])
    for at, (how, data) in enumerate(in_place(batch_of(row[0], row[1]))):
        commands = OF_BATCHES[at % 6 :: 6]
        texts = hold_segment(tmp_path, data + neighbour, how, commands)
        twin = data.replace(SECRET.encode(), TWIN.encode())
        assert twin != data
        assert dict(views_of_segment(segment_file(tmp_path, twin + neighbour), commands)) == texts, how


@pytest.mark.parametrize("codec", [0, 1, slow(2), slow(4)])
def test_no_view_of_misplaced_records_shows_a_secret(codec, tmp_path):
    """Each damage of one of two messages, in every seventh command: each command meets three damages or four."""
    neighbour = logs.batch(0, [logs.record(value=b"x")])
    both = zip(*(misplaced(batch_of(message, path, codec)) for message, path, _ in RECORDS[:2]), strict=True)
    for at, damaged in enumerate(both):
        how, data = damaged[at % 2]
        hold_segment(tmp_path, neighbour + data + neighbour, how, OF_BATCHES[at % 7 :: 7])


BYTES = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), min_size=1, max_size=4)


def flipped(data, changes):
    """Bytes with some of them changed, but not those of the secret."""
    secret = data.find(SECRET.encode())
    out = bytearray(data)
    for at, bits in changes:
        place = at % len(data)
        if not secret <= place < secret + len(SECRET):
            out[place] ^= bits
    return bytes(out)


@pytest.mark.slow
@pytest.mark.parametrize("row", RECORDS, ids=str)
@examples(12)
@given(changes=BYTES, first=st.integers(0, 3))
def test_no_view_of_a_batch_with_any_changed_bytes_shows_a_secret(row, tmp_path_factory, changes, first):
    """Every fourth command for each: what is hidden is decided once for all of them, which the tests above hold with
    each damage that is known to matter.
    """
    data = flipped(batch_of(row[0], row[1]), changes)
    hold_segment(tmp_path_factory.mktemp("segment"), data, changes, OF_BATCHES[first::4])


def fetched(data):
    """A connection on which a broker sends records of the metadata log."""
    partition = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 1, "abortedTransactions": None}
    partition["records"] = base64.b64encode(data).decode()
    asked = [{"topicId": CLUSTER_METADATA_ID, "partitions": []}]
    answer = [{"topicId": CLUSTER_METADATA_ID, "partitions": [partition]}]
    return capture(
        [
            (0, Wire.request("Fetch", 13, 4, topics=asked, forgottenTopicsData=[])),
            (1, Wire.response("Fetch", 13, 4, responses=answer)),
        ]
    )


def hold_capture(path, data, how, views=OF_FRAMES):
    path.write_bytes(data)
    for words in views:
        done = kwire(*words, path)
        assert not shows(done.out + done.err), (how, words)
        assert not numbers(done.out + done.err), (how, words)
    assert not shows(repr([*of_terminal(path)])), how
    assert not shows("".join(json.dumps(frame.to_json()) + repr(frame) for frame in kwire_cli.read_frames(data))), how


def test_no_view_of_a_message_with_a_damaged_batch_shows_a_secret(tmp_path):
    """Each damage of one of two messages, in every fifth command: each command meets eight damages."""
    batches = [batch_of(message, path) for message, path, _ in RECORDS[:2]]
    both = zip(*([*in_place(batch), *misplaced(batch)] for batch in batches), strict=True)
    for at, damaged in enumerate(both):
        how, data = damaged[at % 2]
        hold_capture(tmp_path / "fetched.pcap", fetched(data), how, OF_FRAMES[at % 5 :: 5])


FETCHES = [("Fetch", 12), ("Fetch", 13), ("Fetch", 17), ("FetchSnapshot", 0), ("FetchSnapshot", 1)]


@pytest.mark.parametrize("step", [61, slow(19)])
@pytest.mark.parametrize(("api", "version"), FETCHES)
def test_no_view_of_a_misaligned_answer_about_the_metadata_shows_a_secret(api, version, step, tmp_path):
    """The messages with a secret come in turn, and the commands, so that each message meets each command."""
    said = [answer_of(api, version, CLUSTER_METADATA, batch_of(message, path)) for message, path, _ in RECORDS]
    damages = [*zip(*(misaligned(answer) for _, answer in said), strict=False)]
    for number, damaged in enumerate(damages[::step]):
        (asked, _), (how, data) = said[number % len(said)], damaged[number % len(said)]
        hold_capture(tmp_path / "fetched.pcap", capture([(0, asked), (1, data)]), how, OF_FRAMES[number % 5 :: 5])


def test_an_answer_about_another_topic_is_shown_though_it_does_not_fit(tmp_path):
    """The test above can fail: its damages show the secret where the request names a topic of an application."""
    asked, answer = answer_of("Fetch", 12, "orders", batch_of("ConfigRecord", "value"))
    path, texts = tmp_path / "fetched.pcap", []
    for _, data in [*misaligned(answer)][::9]:
        path.write_bytes(capture([(0, asked), (1, data)]))
        texts.append(kwire("decode", "--full", "-f", "hex", path).out)
    assert any(map(shows, texts))


@pytest.mark.parametrize("key", [37, 18, slow(32)])
@pytest.mark.parametrize("first", [0, 2])
def test_no_view_of_a_token_under_another_api_key_shows_a_secret(key, first, tmp_path):
    secret = SECRET.encode()
    tokens = [b"n,,n=u,r=" + secret, b"r=" + secret + b",s=" + secret, b"c=biws,r=" + secret, b"v=" + secret]
    hold_capture(tmp_path / "sasl.pcap", capture(authentication(key, tokens, first=first)), key)


def frame_of(message, path, version):
    key, body = CATALOG[message].api_key, body_of(message, path, version)
    return framed(key, version, body) if message.endswith("Request") else answered(key, version, body)


def malformed(frame, kind):
    """Damages of the header, the lengths and the tags of a frame, by what was done."""
    at, rest = frame.index(SECRET.encode()), frame[4:]
    if kind == "request":
        for version in (-1, 3, 11, 99, 0x7FFF):
            yield f"version {version}", frame[:6] + (version & 0xFFFF).to_bytes(2, "big") + frame[8:]
        for key in (0, 3, 52, 58, 99, 2000):
            yield f"api key {key}", frame[:4] + key.to_bytes(2, "big") + frame[6:]
    for gone in (1, 8, len(frame) - at):
        yield f"body cut by {gone}", sized(rest[:-gone])
    for more in (-20, -1, 1, 50):
        yield f"size {more:+}", (len(rest) + more).to_bytes(4, "big") + rest
    for place in (8, at - 9, at - 5, at - 1, len(frame) - 1):
        if place > 11 or kind == "response":
            yield f"tags at {place}", sized(rest[: place - 4] + b"\x02\x05\x81\x01" + rest[place - 4 :])
            yield f"without byte {place}", sized(rest[: place - 4] + rest[place - 3 :])
            yield f"high bit in byte {place}", sized(flipped(rest, [(place - 4, 0x80)]))


@pytest.mark.parametrize(
    ("number", "step"),
    [(number, 18) for number in range(0, len(FRAMES), 5)] + [slow(number, 14) for number in range(len(FRAMES))],
)
def test_no_view_of_a_malformed_frame_shows_a_secret(number, step, tmp_path):
    """Every fourteenth damage, in every fourth view: over all messages each damage meets one or two of them.
    That of damaged framing has every seventh damage of every message.
    """
    for at, damaged in enumerate([*damaged_frames(FRAMES[number])][number % step :: step], number // step):
        hold_frame(*damaged, tmp_path, slice(at % 4, None, 4))


def damaged_frames(row):
    """Damages of a frame, each with what was done, a capture with it, the frame alone, and what is said of that."""
    message, _, version = row
    before, (side, _), after = conversation(message, version, b"")
    api = CATALOG.api_by_key(CATALOG[message].api_key).name
    kind = "request" if message.endswith("Request") else "response"
    said = ["--kind", "request"] if kind == "request" else ["--api", api, "--message-version", str(version)]
    for how, data in malformed(frame_of(*row), kind):
        yield how, capture([*before, (side, data), *after]), [*said, data.hex()]


def hold_frame(how, captured, alone, folder, views):
    """Hold a damaged frame in some of all views."""
    hold_capture(folder / "frames.pcap", captured, how, OF_FRAMES[views])
    for words in OF_A_FRAME[views]:
        done = kwire(*words, *alone)
        assert not shows(done.out + done.err), (how, words)
        assert not numbers(done.out + done.err), (how, words)


def test_differences_of_malformed_messages_are_told_without_their_counts(tmp_path):
    row = next(row for row in FRAMES if row[0] == "StreamsGroupHeartbeatRequest")
    frame = frame_of(*row)
    for how, data in [*malformed(frame, "request")][::4]:
        whole, damaged = tmp_path / "whole.hex", tmp_path / "damaged.hex"
        whole.write_text(frame.hex())
        damaged.write_text(data.hex())
        done = kwire("diff", whole, damaged, "--full", "--kind", "request")
        assert "Traceback" not in done.err
        assert not shows(done.out + done.err), how
