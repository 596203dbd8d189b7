"""Captures before and after: the same in all but what is said, and nothing of that left."""

import json
import random
from functools import cache

import pytest
from kit import traffic as make
from kit.commands import ROOT, kwire, slow
from sanitize.test_damaged_captures import DAMAGE, damaged

from kwire_cli.message.decoded import record_sets
from kwire_cli.message.roles import roles
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.sanitize.replacing import SOFTWARE, WORDS
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.network import IPV4_MORE_FRAGMENTS, SYN

CATALOG = catalog()
SAMPLES = sorted([*(ROOT / "samples" / "captures").iterdir(), *(ROOT / "samples" / "tls").glob("*.pcapng")])
PLACE = ("frame", "time", "stream", "packet", "kind", "size")
MEANS_SOMETHING = 4
"""Bytes that a value has at least of which it can be said whether it is in a file by chance."""


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sanitized")

    @cache
    def one(path, key="a key"):
        out = folder / f"{len(list(folder.iterdir()))}{path.suffix}"
        done = kwire("sanitize", path, out, "--secret", key)
        assert done.code == 0, done.err
        return out

    return one


@pytest.fixture
def sanitized(tmp_path):
    """Sanitize the bytes of a capture, and return the paths of both."""

    def done(data):
        path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
        path.write_bytes(data)
        assert kwire("sanitize", path, out, "--force").code == 0
        return path, out

    return done


def lines(source):
    capture = Capture(source)
    return list(traffic(CATALOG, capture)), capture.summary


def shape(line):
    """What has to stay: all of a line but names, values, ids and addresses."""
    document = line.to_json(records="size")
    out = {key: document.get(key) for key in (*PLACE, "apiKey", "api", "apiVersion", "code", "protocol")}
    out |= {
        "latency": line.latency,
        "anomalies": line.anomalies,
        "errors": line.errors,
        "correlation": line.correlation_id,
        "in flight": line.seen.in_flight,
    }
    out |= {"payloads": [(each["path"], each["type"]) for each in document.get("payloads", ())]}
    frame = line.frame
    out["spans"] = [[(name, *span) for span in part.spans] for name, part in frame.parts] if frame else None
    out["records"] = [list(map(batch_shape, sets_of(frame)))] if frame and frame.body else None
    return out


def is_known(line):
    """Whether a frame, if it is one, is of an api and version that have a definition."""
    frame = line.frame
    return not frame or (
        frame.body is not None and frame.api_version in frame.body.spec.valid_versions and not frame.guess
    )


def same(before, after):
    """That lines are the same in all that has to stay: of frames that are not known the size, the time, and which
    request belongs to a response.
    """
    known = [is_known(line) for line in before]
    few = (*PLACE, "latency", "in flight")
    both = [
        [
            shape(line) if sure else {key: shape(line)[key] for key in few} | {"kind": line.seen.kind}
            for line, sure in zip(some, known, strict=True)
        ]
        for some in (before, after)
    ]
    assert both[1] == both[0]


def sets_of(frame):
    body = frame.body
    for each in record_sets(roles(body.spec, body.entry), body.raw):
        yield from read_items(source_of(bytes(body.raw.data[each.start : each.stop])))


def batch_shape(item):
    if not isinstance(item, Batch):
        return item.to_json()
    notes = []
    records = [
        (*each[:3], size(each.key), size(each.value), [(len(key.encode()), size(value)) for key, value in each.headers])
        for each in item.records(notes)
    ]
    return (
        item.position,
        item.size,
        item.crc_valid,
        item.head._replace(crc=0),
        records,
        [note.code for note in (*item.notes, *notes)],
    )


def size(data):
    return None if data is None else len(data)


def values(part):
    """Texts, bytes and ids, and what is in records."""
    spans = part.raw
    for node, start, stop in zip(spans.node, spans.value, spans.end, strict=True):
        leaf = spans.program.leaves[node]
        if leaf.kind in {"string", "bytes", "uuid"} and leaf.path not in SOFTWARE.get(part.message, ()):
            yield bytes(spans.data[start:stop])


def said(found):
    """All that the frames of a capture say: the values in them, and what they become where they are compressed."""
    for line in found:
        if line.kind == "sasl-token":
            yield bytes(line.seen.data[4:])
        for _, part in line.frame.parts if line.frame else ():
            yield from values(part)
        for item in sets_of(line.frame) if line.frame and line.frame.body else ():
            for record in item.records() if isinstance(item, Batch) else ():
                yield from (record.key, record.value)
                for key, value in record.headers:
                    yield from (key.encode(), value)


@cache
def secrets(path, least=MEANS_SOMETHING):
    """What a capture says and is not to be seen."""
    return {
        each for each in said(lines(path)[0]) if len(each or b"") >= least and each not in WORDS and each.strip(b"\0")
    }


@cache
def names_of_software(path):
    return kwire("decode", path, "--filter", "api == ApiVersions").out.encode()


KEYED = {"cases.pcapng", "sasl-plain.pcapng"}
"""Captures with the keys of their TLS, which are taken out of them."""


@pytest.mark.parametrize("path", [path for path in SAMPLES if path.name not in KEYED], ids=lambda path: path.name)
def test_all_but_what_is_said_stays(path, rewritten):
    (before, unseen), (after, unseen_after) = lines(path), lines(rewritten(path))
    assert unseen_after == unseen
    same(before, after)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_nothing_that_is_said_is_left(path, rewritten):
    out, secret = rewritten(path), secrets(path)
    shown = out.read_bytes() + b"|".join(each for each in said(lines(out)[0]) if each)
    kept = names_of_software(path)
    assert [each for each in secret if each in shown and each not in kept] == []
    assert secret or path.name in {"not-kafka.pcapng", "broker.pcapng", "cases.pcapng"}


def test_the_same_key_gives_the_same_file_and_another_one_another(rewritten, tmp_path):
    path = SAMPLES[0]
    again = tmp_path / "again"
    assert kwire("sanitize", path, again, "--secret", "a key").code == 0
    assert again.read_bytes() == rewritten(path).read_bytes() != rewritten(path, "another key").read_bytes()


def test_equal_names_stay_equal(rewritten):
    def names(path):
        found = [json.loads(line) for line in kwire("decode", path, "--format", "jsonl").out.splitlines()]
        return [(each.get("header", {}).get("clientId"), *each.get("topics", ())) for each in found]

    path = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
    pairs = set(zip(names(path), names(rewritten(path)), strict=True))
    assert len({before for before, _ in pairs}) == len(pairs) == len({after for _, after in pairs})
    assert len(pairs) > 3


@pytest.mark.parametrize("turn", [0, *map(slow, range(1, len(DAMAGE)))])
def test_nothing_that_is_said_is_left_of_damaged_captures(turn, sanitized):
    """Each capture with one damage, which is another one in each turn."""
    for number, path in enumerate(each for each in SAMPLES if each.parent.name == "captures"):
        how = [*DAMAGE][(number + turn) % len(DAMAGE)]
        dice, data = random.Random(number), bytearray(damaged(path, how, 1))
        for _ in range(20):  # in any header too
            data[dice.randrange(24, len(data))] ^= 1 << dice.randrange(8)
        shown = sanitized(data)[1].read_bytes()
        kept = names_of_software(path)
        assert not [each for each in secrets(path, 2 * MEANS_SOMETHING) if each in shown and each not in kept]


# Packets that come twice, in another order, in other pieces, or cut

REQUEST_KEYS = [b"the-first-name", b"the-second-name"]


def talk(wire, how):
    """The packets of a connection on which two requests are made, one of them delivered in an odd way."""
    frames = [
        wire.request("Metadata", 4, number, name.decode(), topics=[{"name": name.decode()}])
        for number, name in enumerate(REQUEST_KEYS, 1)
    ]
    stream, start = b"".join(frames), 1001
    syn = [(b"", 1000, SYN)]
    pieces = {
        "twice": [(stream, 0), (stream, 0)],
        "in other pieces": [(stream[:30], 0), (stream[30:], 30), (stream[10:50], 10)],
        "overlapping": [(stream[:40], 0), (stream[20:], 20)],
        "another order": [(stream[50:], 50), (stream[:50], 0)],
    }[how]
    parts = syn + [(data, start + at, 16) for data, at in pieces]
    made = [
        make.packet(make.ethernet(make.ipv4(make.tcp(data, sequence, 1, flags)), padded=False), number)
        for number, (data, sequence, flags) in enumerate(parts, 1)
    ]
    return make.pcap_file(made), pieces, len(stream)


@pytest.mark.parametrize("how", ["twice", "in other pieces", "overlapping", "another order"])
def test_bytes_that_come_again_are_the_same_again(how, wire, sanitized):
    data, pieces, length = talk(wire, how)
    path, out = sanitized(data)
    (before, unseen), (after, unseen_after) = lines(path), lines(out)
    assert unseen_after == unseen
    same(before, after)
    stream = bytearray(length)
    got = [packet.data[-len(piece) :] for packet, (piece, _) in zip(list(packets(out))[1:], pieces, strict=True)]
    for piece, (_, at) in zip(got, pieces, strict=True):
        stream[at : at + len(piece)] = piece
    assert all(stream[at : at + len(piece)] == piece for piece, (_, at) in zip(got, pieces, strict=True))
    assert not any(name in out.read_bytes() for name in REQUEST_KEYS)


def test_frames_in_fragments_are_blank_and_nothing_else_is_written_over(wire, sanitized):
    requests = [wire.request("Metadata", 4, n, name.decode()) for n, name in enumerate(REQUEST_KEYS, 1)]
    segment = make.tcp(b"".join(requests), 1001)
    fragments = [
        make.ipv4(segment[:24], flags_and_fragment_offset=IPV4_MORE_FRAGMENTS),
        make.ipv4(segment[24:], flags_and_fragment_offset=24 // 8),
    ]
    others = [make.ipv4(make.tcp(requests[0], 1001, source_port=40000))]
    written = [make.packet(make.ethernet(data, padded=False)) for data in (*fragments, *others)]
    _, out = sanitized(make.pcap_file(written))
    assert [len(packet.data) for packet in packets(out)] == [len(packet.data) for packet in written]
    first, second, whole = (packet.data[14 + 20 :] for packet in packets(out))
    assert (set(first[20:]), set(second)) == ({0}, {0})
    assert len(whole[20:]) == len(requests[0])
    assert [line.api for line in lines(out)[0] if line.is_frame] == ["Metadata"]
    assert not any(name in out.read_bytes() for name in REQUEST_KEYS)


def test_of_what_the_capture_cut_the_rest_is_the_same(sanitized):
    cut = [
        packet._replace(data=packet.data[:150]) for packet in packets(ROOT / "samples" / "captures" / "midstream.pcap")
    ]
    path, out = sanitized(make.pcap_file(cut, link=cut[0].link))
    (before, unseen), (after, unseen_after) = lines(path), lines(out)
    assert unseen_after == unseen
    assert [(line.kind, line.api, line.seen.size, line.seen.missing) for line in after] == [
        (line.kind, line.api, line.seen.size, line.seen.missing) for line in before
    ]


def test_what_the_file_says_beside_packets_is_left_out(sanitized):
    packet = make.packet(make.ethernet(make.ipv4(make.tcp(b"x"))))
    named = make.section("<") + make.interface(
        "<", options=make.option("<", 2, b"secret-interface") + make.option("<", 0, b"")
    )
    keys = make.block("<", 10, b"KLST" + b"\x06\0\0\0" + b"a key!")
    _, out = sanitized(named + make.enhanced("<", packet) + keys)
    assert b"secret" not in out.read_bytes()
    assert b"a key" not in out.read_bytes()
    assert [each.time for each in packets(out)] == [packet.time]
