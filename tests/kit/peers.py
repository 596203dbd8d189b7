"""What others read of the same bytes: tshark with the dissector, and the kernel beside the readers of a layout."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

import kwire_cli as kwire
from kit.commands import ROOT
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID, MalformedError
from kwire_cli.engine.reader import SKIP, counter_of, reader_of
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import Form, anomalies, value as value_of
from kwire_cli.message.roles import roles
from kwire_cli.spec.model import fields_by_path
from kwire_cli.structs.composites import UNKNOWN_KEY
from kwire_cli.structs.lengths import REDACTED
from kwire_cli.structs.numbers import unsigned_varint
from kwire_cli.view.wireshark.dissector import dissector

# What tshark shows with kwire's dissector, beside what `kwire decode --format jsonl` prints of the same capture.

TSHARK = shutil.which("tshark")
CAPTURE = ROOT / "samples" / "captures" / "ipv6.pcap"
HEADER = {"correlationId": "kwire.correlation_id", "clientId": "kwire.client_id"}
BATCH = (
    *("baseOffset", "magic", "crc", "maxTimestamp", "producerId", "producerEpoch", "baseSequence"),
    *("partitionLeaderEpoch", "compression", "timestampType", "isTransactional", "isControl"),
)
"""Keys of a batch of format 2 in JSON whose fields have the same name."""


def written(folder):
    """Write the dissector into a folder, and return its path."""
    path = Path(folder) / "kwire.lua"
    path.write_text(dissector(kwire.catalog()), encoding="utf-8")
    return path


def run(lua, capture, *options, two_passes=False, codes=frozenset({0})):
    """Run tshark with the dissector, and return its output; it must not complain, and end with one of these codes."""
    command = [TSHARK, "-n", "-X", f"lua_script:{lua}", *(["-2"] if two_passes else []), "-r", str(capture), *options]
    environment = os.environ | {"HOME": "/nonexistent", "WIRESHARK_RUN_FROM_BUILD_DIRECTORY": ""}
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", errors="replace", env=environment, check=False
    )
    assert done.returncode in codes, done.stderr
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


class Layer:
    """The values of one frame as tshark shows them: by field, in order."""

    def __init__(self, packet, pairs):
        self.packet = packet
        self.values = defaultdict(list)
        self._add(pairs)

    def _add(self, pairs):
        for key, value in pairs:
            if isinstance(value, list):
                if value and isinstance(value[0], tuple):
                    if key.startswith("kwire.") and not key.endswith("_tree"):
                        self.values[key].append("")
                    self._add(value)
                continue
            if key.startswith("kwire."):
                self.values[key].append(value)


def layers(text):
    """Yield the frames in tshark's JSON."""
    for packet in json.loads(text, object_pairs_hook=lambda pairs: pairs):
        source = dict(dict(packet)["_source"])["layers"]
        number = int(dict(dict(source)["frame"])["frame.number"])
        for key, value in source:
            if key == "kwire":
                yield Layer(number, value)


def shown(lua, capture, *options, **how):
    """Return the frames that tshark shows of a capture."""
    text = run(lua, capture, *options, "-Y", "kwire", "-T", "json", "-J", "frame kwire", **how)
    return list(layers(text)) if text.strip() else []


# What kwire says, in the same form


class _Values:
    def __init__(self):
        self.values = defaultdict(list)

    def add(self, key, value, kind=""):
        if value is None:
            return
        if isinstance(value, str) and REDACTED.fullmatch(value):
            self.values["kwire.redacted"].append(value)
            return
        if kind == "bool":
            value = str(int(value))
        elif kind in {"bytes", "records"}:
            value = ":".join(f"{byte:02x}" for byte in base64.b64decode(value))
        self.values[key].append(value if isinstance(value, str) else str(value))

    def body(self, message, kinds, value, path=""):
        for key, inner in value.items():
            here = f"{path}.{key}" if path else key
            name = f"kwire.{message}.{here}"
            if key == UNKNOWN_KEY:
                for tag in inner:
                    self.add("kwire.unknown_tag", tag["data"], "bytes")
                continue
            is_array, kind = kinds[here]
            if is_array:
                held = name if kind == STRUCT else "kwire.count"
                self.values[held].append("-1" if inner is None else str(len(inner)))
            if kind == "records":
                for item in inner if isinstance(inner, list) else ():
                    self.batch(item)
            elif kind == STRUCT and inner is not None:
                if not is_array:
                    self.values[name].append("")
                for element in inner if is_array else (inner,):
                    self.body(message, kinds, element, here)
            else:
                for element in (inner or ()) if is_array else (inner,):
                    self.add(name, element, kind)

    def batch(self, item):
        if "gap" in item:
            return
        if item["magic"] < 2:
            self.message(item)
            return
        for key in BATCH:
            value = item[key]
            self.add(f"kwire.batch.{key}", str(int(value)) if isinstance(value, bool) else value)
        self.add("kwire.batch.recordsCount", item["count"])
        if item["compression"] != "none":
            return
        for record in item["records"]:
            for key in ("offset", "timestamp"):
                self.add(f"kwire.record.{key}", record[key])
            for key in ("key", "value"):
                self.add(f"kwire.record.{key}", record[key], "bytes")
            for header in record["headers"]:
                self.add("kwire.record.headers.key", header["key"])
                self.add("kwire.record.headers.value", header["value"], "bytes")

    def message(self, item):
        """Add a message of format 0 or 1; of a compressed one the JSON form has what is in it, tshark its bytes too."""
        for key in ("magic", "crc", "compression"):
            self.add(f"kwire.batch.{key}", item[key])
        if item["magic"] == 1:
            self.add("kwire.batch.timestampType", item["timestampType"])
        if item["compression"] != "none":
            return
        (record,) = item["records"]
        self.add("kwire.record.offset", record["offset"])
        if item["magic"] == 1:
            self.add("kwire.record.timestamp", record["timestamp"])
        for key in ("key", "value"):
            self.add(f"kwire.record.{key}", record[key], "bytes")


STRUCT = "struct"
HELD = ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment", "DefaultPrincipalData")
"""Messages in fields that the dissector knows."""


@cache
def kinds_of(message):
    """Return for each field, by its path, whether it is an array, and the type of its elements or itself."""
    fields = fields_by_path(kwire.catalog().message(message))
    return {
        path.replace("[]", ""): (field.is_array, STRUCT if field.struct_name else field.element_type)
        for path, field in fields
    }


def expected(line):
    """Return the values of a line of `kwire decode --format jsonl` by tshark's fields."""
    out = _Values()
    for key, name in (("kind", "kind"), ("size", "size"), ("api", "api"), ("apiVersion", "api_version")):
        out.add(f"kwire.{name}", line.get(key))
    out.add("kwire.api_key", line.get("apiKey"))
    header = line.get("header") or {}
    for key, name in HEADER.items():
        out.add(name, header.get(key))
    if body := line.get("body"):
        api = kwire.catalog().api(line["apiKey"])
        message = api.request if line["kind"] == "request" else api.response
        out.body(message, kinds_of(message), body)
    for payload in line.get("payloads", ()):
        fits = not any(anomaly["path"].startswith(payload["path"]) for anomaly in line["anomalies"])
        if payload["type"] in HELD and fits and not payload.get("guess"):
            out.body(payload["type"], kinds_of(payload["type"]), payload["data"])
    return {key: values for key, values in out.values.items() if values}


def differences(line, layer):
    """Yield where the values of a frame differ: the field, what kwire says, what tshark says."""
    wanted = expected(line)
    has_more = bool(line.get("payloads")) or any("decoded" in text for text in [json.dumps(line.get("body"))])
    message = next((key.split(".")[1] for key in wanted if key.split(".")[1][0].isupper()), "-")
    keys = {key for key in layer.values if key.startswith((f"kwire.{message}.", "kwire.batch.", "kwire.record."))}
    keys |= wanted.keys()
    for key in sorted(keys):
        if key in SKIPPED or (has_more and key in IN_MORE):
            continue
        mine, theirs = wanted.get(key, []), layer.values.get(key, [])
        if is_array_of_records(key):
            continue
        if _is_in_wrapper(key, layer):
            if key.startswith("kwire.batch.") and Counter(mine) - Counter(theirs):
                yield key, mine, theirs
            continue
        if has_more and not key.split(".")[1][0].isupper():
            theirs = theirs[: len(mine)]  # what is inside comes after it
        if sorted(mine) != sorted(theirs) and not _are_close(mine, theirs):
            yield key, mine, theirs


_BATCH_ONLY = "batchLength lastOffsetDelta attributes messageSize baseTimestamp hasDeleteHorizon"
_RECORD_ONLY = "length attributes timestampDelta offsetDelta headers compressed control"
IN_MORE = {"kwire.count", "kwire.redacted", "kwire.unknown_tag", "kwire.record.key", "kwire.record.value"}
"""Fields that messages within a message add to. Wireshark redacts keys and values of internal topics."""
SKIPPED = {f"kwire.batch.{name}" for name in _BATCH_ONLY.split()}
SKIPPED |= {f"kwire.record.{name}" for name in _RECORD_ONLY.split()}
"""Fields of records that the JSON form has not."""


def is_array_of_records(key):
    """Return whether a field holds records, which JSON shows decoded."""
    message, _, path = key.removeprefix("kwire.").partition(".")
    return message[0].isupper() and kinds_of(message).get(path, ("", ""))[1] == "records"


def _is_in_wrapper(key, layer):
    """Return whether a field may be of a compressed message of format 0 or 1, and of the messages in it.

    JSON shows the fields of the compressed message as a batch and those in it as records, tshark all fields of both.
    """
    return (
        key.startswith(("kwire.batch.", "kwire.record."))
        and layer.values.get("kwire.batch.magic", ["2"])[0] != "2"
        and any(name != "none" for name in layer.values["kwire.batch.compression"])
    )


def _are_close(mine, theirs):
    try:
        return (
            len(mine) == len(theirs)
            and all(
                abs(float(one) - float(other)) <= 1e-9 * abs(float(one))
                for one, other in zip(mine, theirs, strict=True)
            )
            and any("." in text or "e" in text for text in mine)
        )
    except ValueError:
        return False


def is_compared(line):
    """Return whether both sides show a line: not what kwire guesses of a response without its request."""
    return line["kind"] in {"request", "response", "sasl-token"} and "candidates" not in line


def _is_cut(line):
    """Return whether bytes of a frame are missing, of which Wireshark may show nothing."""
    return any(anomaly["code"] == "TRUNCATED" for anomaly in line.get("anomalies", ()))


def compare(lua, capture, *options, lines=None):
    """Return frames compared, fields compared, frames that only one side has, and the differences."""
    by_packet = defaultdict(list)
    for layer in shown(lua, capture, *options):
        by_packet[layer.packet].append(layer)
    frames = fields = 0
    found = []
    for line in lines:
        if not is_compared(line):
            continue
        theirs = [layer for layer in by_packet[line["packet"]] if layer.values.get("kwire.kind")]
        match = next((layer for layer in theirs if layer.values["kwire.size"] == [str(line["size"])]), None)
        if match is None:
            if not _is_cut(line):
                found.append((capture, line["frame"], "missing", line["kind"], line["packet"]))
            continue
        by_packet[line["packet"]].remove(match)
        frames += 1
        fields += sum(map(len, expected(line).values()))
        found += ((capture, line["frame"], *difference) for difference in differences(line, match))
    extra = [layer for some in by_packet.values() for layer in some if layer.values.get("kwire.api_key")]
    found += (
        (capture, "extra", layer.packet, layer.values["kwire.kind"], layer.values["kwire.size"]) for layer in extra
    )
    return frames, fields, found


# Readers of a layout held against the kernel, for the tests of readers.

CATALOG = kwire.catalog()
FORMS = ("base64", "size", SKIP)
NO_ID = bytes(16)


def text(data):
    return str(data, "utf-8", "replace")


def uuid(data):
    return base64.urlsafe_b64encode(data)[:-2].decode()


def by_kernel(entry, data, form, start=0, stop=None):
    """What the kernel says of a well-formed message; None for any other."""
    spans = walk(entry, data, start, stop)
    if spans.flags or spans.lost >= 0:
        return None
    tree = build(entry, spans)
    return None if anomalies(tree) else value_of(tree.root, tree, Form("base64" if form == SKIP else form))


def collected(entry, spans, by_node, naming):
    """The values of leaves with a role, from spans."""
    found = [
        (by_node[node], spans.data[spans.value[at] : spans.end[at]], at)
        for at, node in enumerate(spans.node)
        if node in by_node
    ]
    topics = [text(data) for role, data, _ in found if role == TOPIC and data]
    ids = [uuid(data) for role, data, _ in found if role == TOPIC_ID and data != NO_ID]
    leaves = entry.program.leaves
    errors = [leaves[spans.node[at]].decl.read(data) for role, data, at in found if role == ERROR]
    named = []
    for name, topic_id in naming:
        rows = [
            [spans.data[spans.value[at] : spans.end[at]] for at, node in enumerate(spans.node) if node == wanted]
            for wanted in (topic_id, name)
        ]
        named += [(uuid(a), text(b)) for a, b in zip(*rows, strict=True) if b and a != NO_ID]
    return topics, ids, [code for code in errors if code], named


def by_reader(entry, data, form, by_node=None, naming=(), start=0, stop=None):
    try:
        return reader_of(entry, form, by_node, naming)(data, start, len(data) if stop is None else stop)
    except MalformedError:
        return None


def check(spec, version, data):
    """Hold all readers of a message's layout against the kernel; return whether the message is well-formed."""
    entry = entry_for(spec, version)
    known = roles(spec, entry)
    for form in FORMS:
        expected = by_kernel(entry, data, form)
        found = by_reader(entry, data, form, known.by_node, known.naming)
        assert (found is None) == (expected is None)
        if found is None:
            continue
        if form == SKIP:
            assert found.value.items() <= expected.items()
        else:
            assert repr(found.value) == repr(expected)  # the order of keys too
            assert repr(
                by_reader(entry, memoryview(b"ab" + data + b"c"), form, start=2, stop=2 + len(data)).value
            ) == repr(expected)
        topics, ids, errors, named = collected(entry, walk(entry, data), known.by_node, known.naming)
        assert [[*each] for each in found[1:4]] == [topics, ids, errors]
        assert sorted(found.names) == sorted(named)
    check_counter(entry, data)
    return by_kernel(entry, data, "base64") is not None


def summed(spans):
    """Bytes before values, bytes of values, and occurrences, by node."""
    sums, before = {}, spans.start
    for node, at, end in zip(spans.node, spans.value, spans.end, strict=True):
        row = sums.setdefault(node, [0, 0, 0])
        row[0], row[1], row[2] = row[0] + at - before, row[1] + end - at, row[2] + 1
        before = end
    return sums


def places_in(entry):
    return {leaf.id: "" for leaf in entry.program.leaves if leaf.kind in {"string", "records", "int32", "uuid"}}


def check_counter(entry, data):
    """Hold the counter of a layout against the spans; it leaves tag sections that are not empty to them."""
    spans = walk(entry, data)
    places = places_in(entry)
    counter, rows = counter_of(entry, places), []
    sums = counter.sums()
    try:
        counter.count(data, 0, len(data), sums, rows)
    except MalformedError:
        assert sums == counter.sums()
        tagged = any(leaf.kind == "tag-header" for leaf in map(entry.program.leaves.__getitem__, spans.node))
        assert tagged or by_kernel(entry, data, "size") is None
        return
    found = {}
    for leaf, *numbers in counter.totals(sums):
        found[leaf.id] = [a + b for a, b in zip(found.get(leaf.id, (0, 0, 0)), numbers, strict=True)]
    assert found == summed(spans)
    assert [row[1:] for row in rows] == [
        row for row in zip(spans.node, spans.value, spans.end, strict=True) if row[0] in places
    ]


def mutated(body, rng):
    """Another body: some bytes changed, some left out, some put in."""
    data = bytearray(body)
    for _ in range(rng.randrange(1, 4)):
        if data:
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
    if rng.random() < 0.2:
        del data[rng.randrange(len(data) + 1) :]
    if rng.random() < 0.2:
        at = rng.randrange(len(data) + 1)
        data[at:at] = rng.randbytes(rng.randrange(4))
    return bytes(data)


def section(*pairs):
    return unsigned_varint(len(pairs)) + b"".join(
        unsigned_varint(tag) + unsigned_varint(len(data)) + data for tag, data in pairs
    )


# Classes of Kafka, which a Java program runs.

CENTRAL = "https://repo1.maven.org/maven2"


def jars(cache, sources):
    """Return the paths of jars, downloaded once to the cache of pytest."""
    paths = []
    for source, digest in sources.items():
        path = Path(cache.mkdir("jars")) / source.rpartition("/")[2]
        if not path.exists():
            try:
                with urllib.request.urlopen(f"{CENTRAL}/{source}", timeout=60) as answer:
                    data = answer.read()
            except (urllib.error.URLError, TimeoutError) as error:
                pytest.skip(f"Maven Central is not reachable: {error}")
            assert hashlib.sha256(data).hexdigest().startswith(digest)
            part = path.with_suffix(f".{os.getpid()}")
            part.write_bytes(data)
            part.rename(path)
        paths.append(path)
    return paths


def java(class_path, program, lines):
    """Return the lines that a Java program prints, one for each line that it reads."""
    if not shutil.which("java"):
        pytest.skip("there is no Java")
    command = ("java", "-cp", os.pathsep.join(map(str, class_path)), str(program))
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    printed = done.stdout.splitlines()
    assert len(printed) == len(lines), done.stderr
    return printed
