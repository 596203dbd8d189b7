"""What is fuzzed: for each entrance a function of any bytes, which raises where kwire does what it must never do.

Whatever comes in, a command ends with one of its exit codes and says why; no other exception leaves it, and nothing in
its output acts on a terminal.
"""

import json
import re
import tempfile
import zlib
from functools import cache
from html import unescape
from pathlib import Path

from kit.commands import ACTS, ROOT, kwire

import kwire_cli
from kwire_cli.errors import KwireError
from kwire_cli.message.decoded import decode_spec
from kwire_cli.source.kinds import Kind, begins_as
from kwire_cli.source.text.reading import FORMS
from kwire_cli.spec.overlay import load_text
from kwire_cli.structs.messages import declare
from kwire_cli.view.html.page import head, tail

SAMPLES = ROOT / "samples"
LOG_FILES = (
    "00000000000000000000.log",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000000.snapshot",
    "leader-epoch-checkpoint",
    "partition.metadata",
)
DATA = re.compile(r'<script type="application/json" id="\w+">(.*?)</script>\n', re.DOTALL)
TITLE = re.compile("<title>(.*)</title>")
CATALOG = kwire_cli.catalog()
MESSAGES = [(entry.name, version) for entry in CATALOG for version in entry.valid_versions.each()]


def some(choices, data):
    """One of these, the same for the same bytes."""
    return choices[zlib.crc32(data) % len(choices)]


def run(*words, stdin=b"", terminal=True):
    done = kwire(*words, "--color", "never", stdin=stdin, terminal=terminal)
    assert done.code in {0, 1, 2}, done.code
    assert done.code == 0 or done.raw or done.err, "it fails and says nothing"
    assert not terminal or not ACTS.search(done.raw + done.err.encode()), "it acts on a terminal"
    return done


@cache
def shell(title):
    """A page without its data."""
    return head(unescape(title)) + tail()


def texts(data):
    """Bytes in any text form."""
    form = FORMS[data[0] % len(FORMS)] if data else "auto"
    run("decode", "--input", form, "--format", some(["tree", "hex", "jsonl"], data), "-", stdin=data[1:])
    if form == "auto":  # which reads packets that were printed as a capture
        asked = some([("--pairs", "-f", "table"), ("--api", "Fetch", "--message-version", "4", "-f", "tree")], data)
        run("decode", *asked, "-", stdin=data[1:])


def frames(data):
    """Requests, and responses whose api is said."""
    asked = some(
        [
            (),
            ("--framed",),
            ("--unframed",),
            ("--api", "Metadata", "--message-version", "9"),
            ("--response",),
            ("--header", "kip482"),
        ],
        data,
    )
    run("decode", "--input", "raw", *asked, "--format", some(["tree", "jsonl", "hex"], data[::-1]), "-", stdin=data)


def messages(data):
    """A body of any message and version: what was decoded without loss is written again as it was."""
    name, version = MESSAGES[int.from_bytes(data[:2], "big") % len(MESSAGES)]
    body = data[2:]
    try:
        value = kwire_cli.decode(body, message=name, version=version).to_json(lossless=True)
    except KwireError:
        return
    assert kwire_cli.encode(value, message=name, version=version) == body, "it is written in other bytes"


def captures(data):
    """pcap, pcapng, with and without TLS; request logs and what else decode knows by its first bytes."""
    asked = some([("-f", "table"), ("-f", "jsonl"), ("-f", "tree"), ("-f", "csv"), ("--pairs", "-f", "jsonl")], data)
    run("decode", *asked, "-", stdin=data)


def tls(data):
    """A capture whose secrets are in a key log, which stands before it with its length."""
    size = int.from_bytes(data[:2], "big")
    asked = some([("-f", "table"), ("-f", "jsonl"), ("-f", "tree")], data)
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys"
        keys.write_bytes(data[2 : 2 + size])
        run("decode", "--tls-keylog", str(keys), *asked, "-", stdin=data[2 + size :])


def pages(data):
    """Pages in HTML of captures, frames and segments: whatever is in the bytes, they have the same elements, and their
    data is JSON.
    """
    command = some(
        [("decode",), ("decode", "--input", "raw"), ("dump",), ("stats",), ("overhead",), ("compare", "--advise")], data
    )
    done = run(*command, "--format", "html", "-", stdin=data, terminal=False)
    if done.raw:
        outside, inside = [], []
        for number, part in enumerate(DATA.split(done.raw.decode())):
            (inside if number % 2 else outside).append(part)
        assert "".join(outside) == shell(TITLE.search(done.raw.decode())[1]), "there is something else on the page"
        for each in inside:
            json.loads(each)


def sanitized(data):
    """Captures and segments without their names; a segment stays as long as it is."""
    name = some(["a.pcap", "00000000000000000000.log"], data)
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / name, Path(folder) / f"out-{name}"
        before.write_bytes(data)
        done = run(
            "sanitize",
            "--secret",
            "k",
            "--as-topic",
            some(["t", "__consumer_offsets"], data[::-1]),
            str(before),
            str(after),
        )
        if not done.code and begins_as(str(before)) is not Kind.CAPTURE:
            assert after.stat().st_size == len(data), "it has another size"


def records(data):
    """Record sets of every format, and what their records hold."""
    form = ["auto", "v0", "v1", "v2", "kip98-draft", "kip82-draft"][data[0] % 6] if data else "auto"
    run("dump", "--record-format", form, "--deep", "--max-decompressed", "1MiB", "--format",
    some(["tree", "jsonl", "hex", "table", "csv"], data),
        "--as-topic", some(["t", "__consumer_offsets", "__transaction_state", "__cluster_metadata"], data[::-1]), "-",
        stdin=data[1:])  # fmt: skip


def log_files(data):
    """Files of a partition's folder: segments as they are verified and folded, indexes, snapshots, checkpoints."""
    name = LOG_FILES[data[0] % len(LOG_FILES)] if data else LOG_FILES[0]
    asked = some([("--verify",), ("--all",), ("--all", "--deep"), ("--state",)], data)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / some(
            ["x-0", "__consumer_offsets-0", "__transaction_state-0", "__cluster_metadata-0"], data[::-1]
        )
        place.mkdir()
        (place / name).write_bytes(data[1:])
        run("dump", *asked, "--max-decompressed", "1MiB", str(place))


def definitions(data):
    """A definition of a message, as it is read, checked, shown, compared and laid out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Made.json"
        path.write_bytes(data)
        run("lint", str(path))
        run("breaking", str(path), str(path))
        try:
            spec = load_text(data.decode("utf-8", "replace"), "Made.json").spec
            for version in [*spec.valid_versions.each()][:3]:
                declare(spec, version)
                decode_spec(spec, bytes(40), version)
        except KwireError:
            pass


def documents(data):
    """JSON that is to be encoded."""
    run(
        "encode",
        *some([(), ("--records",), ("-m", "MetadataRequest", "--message-version", "12"), ("--format", "base64")], data),
        "-",
        stdin=data,
    )


def request_logs(data):
    """A broker's request log."""
    run("decode", *some([("-f", "table"), ("-f", "jsonl")], data), "-", stdin=data)


def filters(data):
    """The language of --filter."""
    text = data.decode("utf-8", "replace").replace("\0", "")
    run("decode", "-f", "table", "--filter", text, str(SAMPLES / "captures" / "ipv6.pcap"))


TARGETS = {
    each.__name__: each
    for each in (
        texts,
        frames,
        messages,
        captures,
        records,
        log_files,
        definitions,
        documents,
        request_logs,
        filters,
        tls,
        pages,
        sanitized,
    )
}
SIZES = {"tls": 48 << 10}
"""Bytes of a seed, at most, where they have to be more than usual: a handshake is needed before anything can be
decrypted."""


def size_of(target):
    """Bytes of an input, at most: fuzzing is a matter of many runs."""
    return SIZES.get(target, 4096)


def seeds(target):
    """Inputs that mean something to a target: from the samples, and what once went wrong."""
    found = [path.read_bytes() for path in sorted((Path(__file__).parent / "corpus" / target).glob("*"))]
    return [*found, *(data[: size_of(target)] for data in _SEEDS[target]())]


def _files(*patterns):
    return [path.read_bytes() for pattern in patterns for path in sorted(SAMPLES.glob(pattern)) if path.is_file()]


def _one(pattern):
    [found] = _files(pattern)
    return found


def with_keys(keys, capture):
    """What `tls` takes."""
    return len(keys).to_bytes(2, "big") + keys + capture


_KIND_OF = {Path(name).suffix: kind for kind, name in enumerate(LOG_FILES)} | {".checkpoint": 5}
_SPECS = sorted((ROOT / "specs").glob("S*Request.json"))
_FRAMES = sorted((SAMPLES / "frames").glob("*"))
_SEEDS = {
    "texts": lambda: [
        bytes([form]) + data
        for number, data in enumerate(_files("text/*.*", "text/packets/*.txt", "text/logs/*", "frames/*"))
        for form in (0, number % len(FORMS))
    ],
    "frames": lambda: [kwire("encode", "--format", "raw",
    stdin=kwire("decode", path, "-f", "jsonl", "--lossless", "--show-secrets").raw).raw
        for path in sorted((SAMPLES / "frames").glob("*"))],
    "messages": lambda: [number.to_bytes(2, "big") + bytes(size) for number in range(0, len(MESSAGES),
    40) for size in (4, 60)],
    "captures": lambda: _files("captures/*", "tls/*.pcapng", "frames/*"),
    "tls": lambda: [with_keys(_one("tls/broker.keys"),
    data[:size]) for data in _files("tls/broker.pcapng") for size in (6000, 20_000, 40_000)],
    "pages": lambda: _files("captures/*", "frames/*", "segments/*/*.log"),
    "sanitized": lambda: _files("captures/*", "segments/*/*.log"),
    "records": lambda: [bytes(1) + data for data in _files("segments/*/*.log")],
    "log_files": lambda: [bytes([_KIND_OF.get(path.suffix, 0)])
    + path.read_bytes() for path in sorted((SAMPLES / "logs").glob("*/*"))],
    "definitions": lambda: _files("definitions/*.json",
    "definitions/*/*.json") + [path.read_bytes() for path in _SPECS[:8]],
    "documents": lambda: _files("json/*") + [kwire("decode", path, "-f", "jsonl",
    "--lossless").raw for path in _FRAMES[:8]],
    "request_logs": lambda: [b"\n".join(data.split(b"\n")[at : at
    + 2]) for data in _files("request-logs/*") for at in range(0, 20, 2)],
    "filters": lambda: [b"api == Fetch and latency > 100ms", b"topic ~ 'a.*b' or not (size >= 1KiB)",
    b'body.topics[].name == "x" and error != 0'],
}  # fmt: skip
