"""Captures taken apart and damaged, captures full of hostile text, and the samples with TLS."""

import io
from collections import Counter, defaultdict
from functools import cache, partial
from itertools import islice
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import kwire_cli
from kit import logs as records, traffic as make
from kit.commands import ROOT
from kit.traffic import Wire
from kwire_cli.lake.windows import OUTLINES, files_of, origin_of, outline_rows, parts_of, planned, windows
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.captures import BATCH, Capture
from kwire_cli.source.files import Naming
from kwire_cli.source.kafka.bulk_frames import EndsReader
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.descriptors import Run, described, run_of as run_from
from kwire_cli.source.packets.model import ALONE, NO_TIME, Data, Foreign, Gap, Origin, Packet, Start, endpoints, turned
from kwire_cli.source.packets.parts import PartReader
from kwire_cli.source.packets.pcap import Secrets
from kwire_cli.source.packets.segment_columns import DESCRIPTOR
from kwire_cli.source.packets.tcp import Streams
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.stores.paths import path_of
from kwire_cli.structs.network import ETHER_IPV4, ETHER_IPV6, FIN, SYN, TLS_KEY_LOG

# Samples that differ in what they hold: what is true of them is true of the others, which show other incidents in the
# same forms.

SAMPLES = ROOT / "samples"
CHOSEN = tuple(
    SAMPLES / name
    for name in (
        "captures/ipv6.pcap",  # many clients and apis
        "captures/kafka-python-4.4.0.pcapng",  # blocks of pcapng
        "captures/midstream.pcap",  # connections that began before
        "captures/not-kafka.pcapng",  # other protocols, and most kinds of anomalies
        "captures/sarama-0.8.2.0-3.9.2.pcapng",  # old versions
        "incidents/cut-short.pcap",  # packets without their ends
        "incidents/fetch0-answers-fetch1.pcap",  # a response in another version
        "incidents/fetch-sessions.pcap",  # responses whose topics earlier ones named
        "incidents/hanging-transaction.pcap",  # transactions
        "incidents/http-get.pcapng",  # no frame at all
        "incidents/java-tls.pcap",  # not decrypted
        "incidents/loss.pcap",  # packets that come again
        "incidents/lost-packets.pcap",  # gaps
        "incidents/mangling-proxy.pcap",  # bytes that are not recognised on some connections
        "incidents/metadata-storm.pcap",  # bytes behind the end of requests
        "incidents/one-side.pcap",  # requests alone
        "incidents/rebalancing.pcap",  # groups
        "incidents/rolling-restart.pcapng.gz",  # several brokers, errors and findings in numbers
        "incidents/sasl.pcap",  # tokens in messages
        "incidents/raw-logins.pcap",  # tokens without messages
        "incidents/too-large-request.pcap",  # a frame of which the most is missing
        "incidents/twice.pcap",  # each packet twice
        "tls/cases.pcapng",  # some connections in TLS, with their keys
    )
)

# Captures taken apart and written anew with packets lost, cut, repeated, overlapping, in another order.

MASK = 0xFFFFFFFF


def ports(segment):
    """The ports that a segment was sent from and to."""
    source, destination = endpoints(segment.ends)
    return source.port, destination.port


def packet_of(segment, number):
    """A packet on Ethernet that carries the segment; the bytes that it lacks were cut off by the capture."""
    source, destination = endpoints(segment.ends)
    payload, ports = segment.payload + bytes(segment.missing), (source.port, destination.port)
    carried = make.tcp(payload, segment.sequence, segment.acknowledgment, segment.flags, *ports)
    wrap, kind = (make.ipv4, ETHER_IPV4) if len(source.address) == 4 else (make.ipv6, ETHER_IPV6)
    data = make.ethernet(wrap(carried, source=source.address, destination=destination.address), kind, padded=False)
    return Packet(number, segment.time, 1, data[: len(data) - segment.missing], len(data))


def file_of(segments):
    """The bytes of a capture file with these segments in this order."""
    return make.pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)])


def capture_of(segments):
    """A capture with these segments in this order."""
    return Capture(io.BytesIO(file_of(segments)))


# What happens to packets. Each takes segments and a random.Random, and gives segments.


def lost(segments, dice, share):
    """Some were not captured."""
    return [segment for segment in segments if dice.random() >= share]


def cut(segments, dice, share):
    """Of some the capture has the first bytes alone."""
    return [_shortened(segment, dice) if segment.payload and dice.random() < share else segment for segment in segments]


def _shortened(segment, dice):
    keep = dice.randrange(len(segment.payload))
    return segment._replace(payload=segment.payload[:keep], missing=len(segment.payload) - keep)


def reordered(segments, dice, window):
    """Each may come behind up to `window` of those after it, those of handshakes too."""
    places = [(at + dice.random() * window, segment) for at, segment in enumerate(segments)]
    return [segment for _, segment in sorted(places, key=lambda place: place[0])]


def shuffled(segments, dice, window):
    """As `reordered`, but the handshake stays first, which alone tells a start from the middle of a stream where
    something is lost too.
    """
    places, handshakes = [], {}
    for at, segment in enumerate(segments):
        pair = frozenset((segment.ends, turned(segment.ends)))
        if segment.flags & SYN:
            handshakes[pair] = at
        soonest = handshakes.get(pair, 0) + 1e-9 * at
        places.append((at if segment.flags & SYN else max(at + dice.random() * window, soonest), segment))
    return [segment for _, segment in sorted(places, key=lambda place: place[0])]


def repeated(segments, dice, share):
    """Some come again, a little later."""
    places = [(at, segment) for at, segment in enumerate(segments)]
    places += [(at + 1 + dice.random() * 8, segment) for at, segment in enumerate(segments) if dice.random() < share]
    return [segment for _, segment in sorted(places, key=lambda place: place[0])]


def overlapping(segments, dice, share, streams):
    """Some begin with bytes that were sent before, with the same acknowledgment; some come in two pieces."""
    out, since = [], {}
    for segment in segments:
        what = dice.random()
        at = streams[segment.ends].place(segment)
        if segment.ends not in since or since[segment.ends][0] != segment.acknowledgment:
            since[segment.ends] = segment.acknowledgment, at
        said = at - since[segment.ends][1]
        if len(segment.payload) > 1 and not segment.flags & (SYN | FIN) and what < share / 2:
            here = dice.randrange(1, len(segment.payload))
            rest = segment._replace(sequence=segment.sequence + here & MASK, payload=segment.payload[here:])
            out += [segment._replace(payload=segment.payload[:here]), rest]
        elif segment.payload and said > 0 and not segment.flags & SYN and what < share:
            more = dice.randrange(1, min(said, 2000) + 1)
            before = bytes(streams[segment.ends].data[at - more : at])
            out.append(segment._replace(sequence=segment.sequence - more & MASK, payload=before + segment.payload))
        else:
            out.append(segment)
    return out


# The events of one connection from segments that others have found: what a capture of all connections gives for it.


class Replay(Capture):
    """The events between the two ends in `ends`; iterate once. `last` is the number of the capture's last packet.

    `starts` are the first packets of the connections by number, counted file by file.
    """

    def __init__(self, ends, runs, last, secrets=(), origin=ALONE):
        self.ends = ends
        self.runs = runs
        self.last = last
        self.origin = origin
        self.tls = Decryption((), lambda: secrets)
        self.streams = Streams()
        self.starts = {}

    def batches(self):
        for taken in self._batches():
            events = self.tls.take(taken)
            for event in events:
                if type(event) is Start:
                    self.starts[event.connection] = event.packet
            yield events

    def _batches(self):
        segments = (segment for run in self.runs for segment in run.segments(self.ends))
        while some := [*islice(segments, BATCH)]:
            yield [event for each in some for event in (*self.streams.idle(each.packet - 1), *self.streams.feed(each))]
        yield [*self.streams.idle(self.last), *self.streams.close()]


def replays(paths, size, secrets=()):
    """Return for each pair of ends in captures a function that makes a new `Replay`, from parts of about `size` bytes.

    The descriptors of all parts of all files are sorted as tasks sort them.
    """
    listing = pa.table({"path": [str(path) for path in paths], "size": [path.stat().st_size for path in paths]})
    outlines = pa.Table.from_batches([*outline_rows(enumerate(listing["path"].to_pylist()), size)], OUTLINES)
    plan = planned(listing, outlines, Naming(), secrets)
    with TemporaryDirectory() as folder:
        hidden = path_of(folder)
        parts = []
        for window in windows(plan, hidden, range(len(plan.points))):
            parts += [part for pack in range(window.packs) for part in parts_of(window, hidden, pack)]
        files = plan.files["path"].to_pylist()
        points = [(partial(origin_of, point, files_of(point, hidden)), point.last) for point in plan.points]
        rows = defaultdict(list)
        for part in parts:
            for each in described(part, PartReader(part.part)):
                rows[each.point, each.ends].append(each)
        for (point, ends), found in rows.items():
            found.sort(key=lambda each: each.packet)
            make, last = points[point]

            def replay(ends=ends, found=found, make=make, last=last):
                segments = (run_from(each, files) for each in found)
                return Replay(ends, segments, last, secrets=plan.secrets, origin=make())

            yield replay


# Frames and captures in which every text is one that a test chose.


def hostile_frames(name):
    group = {"groupId": name, "memberId": name, "protocolType": "consumer"}
    frames = [
        Wire.request("Metadata", 1, 1, name, topics=[{"name": name}]),
        Wire.request("ApiVersions", 3, 2, name, clientSoftwareName=name, clientSoftwareVersion=name),
        Wire.request("FindCoordinator", 3, 3, name, key=name),
        Wire.request("JoinGroup", 5, 4, name, protocols=[{"name": name, "metadata": ""}], **group),
        Wire.request("SaslHandshake", 1, 5, name, mechanism=name),
    ]
    return b"".join(frames)


def hostile_capture(name):
    """A connection on which a request and an answer hold the name, and what is no message at all."""
    answer = Wire.response(
        "Metadata",
        1,
        1,
        topics=[{"errorCode": 3, "name": name}],
        brokers=[{"nodeId": 1, "host": name, "port": 1, "rack": name}],
    )
    return spoken_capture((0, hostile_frames(name)), (1, answer), (0, name.encode() * 3))


def named_traffic(name):
    """A capture of a group, a transaction, records and errors, each text of which is the name."""
    member = {"memberId": name, "groupInstanceId": name, "metadata": ""}
    joined = {"generationId": 1, "protocolName": name, "leader": name, "memberId": name, "members": [member]}
    group = {"groupId": name, "generationId": 1, "memberId": name}
    ids = {"v3AndBelowTransactionalId": name, "v3AndBelowProducerId": 7}
    ids |= {"v3AndBelowTopics": [{"name": name, "partitions": [0]}]}
    results = [{"name": name, "resultsByPartition": [{"partitionIndex": 0, "partitionErrorCode": 51}]}]
    data = records.batch(0, [records.record(name.encode(), name.encode(), 0, 0, [(name, name.encode())])])
    produced = {"name": name, "partitionData": [{"index": 0, "records": records.b64(data)}]}
    unwritten = {"name": name, "partitionResponses": [{"index": 0, "errorCode": 3, "errorMessage": name}]}
    uncommitted = {"name": name, "partitions": [{"errorCode": 25}]}
    commits = [{"name": name, "partitions": [{"committedMetadata": name}]}]
    calls = [
        ("JoinGroup", 5, {"groupId": name, "groupInstanceId": name, "protocolType": "consumer"}, joined),
        ("SyncGroup", 3, group, {}),
        ("Heartbeat", 3, group, {"errorCode": 27}),
        ("JoinGroup", 5, {"groupId": name, "memberId": name, "protocolType": "consumer"}, {"errorCode": 25}),
        ("InitProducerId", 0, {"transactionalId": name}, {"producerId": 7, "producerEpoch": 0}),
        ("AddPartitionsToTxn", 0, ids, {"resultsByTopicV3AndBelow": results}),
        ("Produce", 8, {"transactionalId": name, "acks": -1, "topicData": [produced]}, {"responses": [unwritten]}),
        ("EndTxn", 0, {"transactionalId": name, "producerId": 7, "committed": False}, {"errorCode": 47}),
        ("OffsetCommit", 5, {"groupId": name, "memberId": name, "topics": commits}, {"topics": [uncommitted]}),
        ("SaslHandshake", 1, {"mechanism": name}, {"errorCode": 33, "mechanisms": [name]}),
    ]
    said = []
    for number, (api, version, request, response) in enumerate(calls, 1):
        said.append((0, Wire.request(api, version, number, name, **request)))
        said.append((1, Wire.response(api, version, number, **response)))
    return spoken_capture(*said)


def spoken_capture(*said, times=None, magic=make.PCAP_MICRO):
    """A capture file in which this is said on one connection: pairs of a side (0 is the client) and bytes.

    `times` are the nanoseconds of each, by default a second after the one before.
    """
    talk = make.Talk()
    segments = talk.handshake() + [talk.segment(side, data) for side, data in said] + talk.goodbye()
    for at, time in enumerate(times or (), 3):
        segments[at] = segments[at]._replace(time=time)
    return make.pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)], magic=magic)


def capture_of_all(conversations, *, opened=True, piece=None, skip=0):
    """A pcap file with one conversation after the other, each on a connection of its own; in pieces of so many bytes,
    without the first packets of each.
    """
    segments = []
    for port, said in enumerate(conversations, 50000):
        ends = make.CLIENT + make.SERVER + make.tcp(source_port=port)[:4]
        talk = make.Talk(ends=(ends, turned(ends)))
        own = talk.handshake() if opened else []
        for side, data in said:
            for at in range(0, max(len(data), 1), piece or max(len(data), 1)):
                own.append(talk.segment(side, data[at : at + (piece or len(data))]))
        segments += own[skip:]
    packets = []
    for number, segment in enumerate(segments, 1):
        packets.append(packet_of(segment._replace(time=number * make.SECOND), number))
    return make.pcap_file(packets)


# A capture in which names, ids and errors try to do something to the terminal.

EVIL = "[red]\x1b[2J\x1b]0;owned\x07\u202e\u2066\x9b31m[/red]\r\n\u200b\ud7ff\U000e0041[@click=app.quit]x[/]"


def write_hostile_capture(path):
    said = [
        (0, Wire.request("Metadata", version=1, client=EVIL, topics=[{"name": EVIL}])),
        (1, Wire.response("Metadata", version=1, topics=[{"errorCode": 3, "name": EVIL, "partitions": []}])),
        (0, b"\0\0\0\x10\x7f\x7f\0\x01\0\0\0\x02\0\x06" + b"\x1b[31mz"),
        (1, b"\x1b]52;c;AAAA\x07" * 8),
    ]
    path.write_bytes(spoken_capture(*said))
    return path


# The TLS samples, as events before anything is decrypted, and what is said in them.

FOLDER = ROOT / "samples" / "tls"
CASES, BROKER, BROKER_KEYS = FOLDER / "cases.pcapng", FOLDER / "broker.pcapng", FOLDER / "broker.keys"
CATALOG = kwire_cli.catalog()
TLS13, CHACHA13, TLS12, CHACHA12, KEY_UPDATES, EARLY = 0, 1, 5, 6, 13, 16
"""Connections of the cases."""


@cache
def secrets():
    """The secrets blocks of the cases."""
    capture = Capture(str(CASES))
    list(capture)
    return tuple(capture.readers[0].secrets)


@cache
def broker_secrets():
    """The key log of the broker's capture, as a secrets block."""
    return (Secrets(TLS_KEY_LOG, BROKER_KEYS.read_bytes()),)


@cache
def raw_events(path=CASES):
    """The events of a capture as TCP gives them."""
    capture = Capture(str(path))
    capture.tls.take = lambda events: events
    return tuple(capture)


def stream(number, path=CASES):
    """The raw events of one connection."""
    return [event for event in raw_events(path) if event.connection == number]


def decrypted(events, blocks=None):
    """What comes of events, by the keys of the cases."""
    found = Decryption(blocks=lambda: secrets() if blocks is None else blocks)
    return [each for event in events for each in found.take([event])]


def in_pieces(events, size):
    """The events with their data in pieces of this size."""
    out = []
    for event in events:
        if isinstance(event, Data):
            out += [event._replace(data=event.data[at : at + size]) for at in range(0, len(event.data), size)]
        else:
            out.append(event)
    return out


def said(events):
    """The bytes of data by connection and direction."""
    out = {}
    for event in events:
        if isinstance(event, Data):
            out.setdefault((event.connection, event.direction), bytearray()).extend(event.data)
    return out


def sizes(events):
    """How many bytes events are about, by connection and direction."""
    out = Counter()
    for event in events:
        if isinstance(event, Data):
            out[event.connection, event.direction] += len(event.data)
        elif isinstance(event, Gap | Foreign):
            out[event.connection, event.direction] += event.size
    return out


def lines(path, *keys):
    """The lines of a capture."""
    return list(traffic(CATALOG, Capture(str(path), key_logs=[str(each) for each in keys])))


# Readers of the segments between two ends.

LAYOUTS = Layouts(kwire_cli.catalog())


def by_ends(segments):
    """Segments by their two ends, in whatever direction."""
    found = defaultdict(list)
    for segment in segments:
        found[min(segment.ends, turned(segment.ends))].append(segment)
    return found


def run_of(ends, segments):
    """Segments as readers take them."""
    rows, kept = [], b""
    for segment in segments:
        time = NO_TIME if segment.time is None else segment.time
        numbers = segment.sequence, segment.acknowledgment, len(segment.payload), segment.missing, segment.flags
        rows.append((segment.packet, time, len(kept), *numbers, segment.ends != ends))
        kept += segment.payload
    return Run(np.array(rows, DESCRIPTOR), kept)


def new_reader(ends, *, names=None, secrets=()):
    """A reader of what is between two ends."""
    tls = Decryption((), lambda: secrets)
    return EndsReader(ends, LAYOUTS, None, names or Names(), Origin(), tls)
