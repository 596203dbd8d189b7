"""The dissector in tshark: it shows what kwire says, of every version of every request and response."""

import base64
import json
import random
import re
import shutil
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import tshark
from command_line import ROOT, kwire
from golden_rows import SHARED

import kwire_cli
from kwire_cli.cli.capture_files import CaptureFile
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import MessageStruct, declare
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid

pytestmark = pytest.mark.skipif(tshark.TSHARK is None, reason="no tshark")
SAMPLES = ROOT / "samples"
TALKS = ("captures/ipv6.pcap", "captures/kafka-python-4.4.0.pcapng", "captures/sarama-0.8.2.0-3.9.2.pcapng")
INCIDENTS = ("sasl", "rebalancing-share", "fetch-sessions", "metadata-snapshot", "static-member", "mirror")


@pytest.fixture(scope="module")
def lua(tmp_path_factory):
    return tshark.written(tmp_path_factory.mktemp("lua"))


def lines_of(path, *options):
    return [json.loads(line) for line in kwire("decode", path, "--format", "jsonl", *options).out.splitlines()]


def as_kafka(lines):
    """The options with which tshark takes the ports of brokers for Kafka's."""
    ports = {int(line["dst"].rpartition(":")[2]) for line in lines if line["kind"] == "request"}
    return [word for port in sorted(ports) for word in ("-d", f"tcp.port=={port},kwire")]


def hold(lua, path):
    lines = lines_of(path)
    frames, fields, found = tshark.compare(lua, path, *as_kafka(lines), lines=lines)
    assert found == []
    assert frames == sum(line["kind"] in {"request", "response", "sasl-token"} for line in lines)
    return frames, fields


@pytest.mark.parametrize("name", [*TALKS, *(f"incidents/{name}.pcap" for name in INCIDENTS)])
def test_values_are_those_of_kwire(lua, name):
    frames, fields = hold(lua, SAMPLES / name)
    assert fields > 5 * frames > 0


@pytest.mark.shared
@pytest.mark.skipif(not (SHARED / "real").exists(), reason="no reference data")
@pytest.mark.parametrize(
    "path", sorted((SHARED / "real" / "own" / "captures").glob("*/capture.pcap*")), ids=lambda path: path.parent.name
)
def test_values_of_real_captures_are_those_of_kwire(lua, path):
    keys = path.with_name("keylog.txt")
    if not keys.exists():
        hold(lua, path)
        return
    lines = lines_of(path, "--tls-keylog", keys)
    options = [f"{kind}.port=={port}" for kind in ("tcp", "tls") for port in {9093}]
    ports = {line["dst"].rpartition(":")[2] for line in lines if line["kind"] == "request"}
    options = [word for port in ports for word in ("-d", f"tcp.port=={port},tls", "-d", f"tls.port=={port},kwire")]
    frames, _, found = tshark.compare(lua, path, *options, "-o", f"tls.keylog_file:{keys}", lines=lines)
    assert (frames > 100, found) == (True, [])


# Every version of every message

NAMES = ("orders", "Zürich-9", "", "ssl.keystore.password", "retention.ms", "no config", "x" * 200)


def value(dice, decl):
    """A value of a construct in JSON form; tagged fields stand in half of the structs."""
    if isinstance(decl, MessageStruct):
        out = {sc.name: value(dice, sc.subcon) for sc in decl.subcons}
        for field in decl.tags.known if decl.tags and dice.random() < 0.5 else ():
            out[field.name] = value(dice, field.subcon)
        return out
    if isinstance(decl, NullableStruct):
        return value(dice, decl.subcon) if dice.random() < 0.7 else None
    if getattr(decl, "nullable", False) and dice.random() < 0.2:
        return None
    if isinstance(decl, ArrayOf):
        return [value(dice, decl.element) for _ in range(dice.choice((0, 1, 2)))]
    if isinstance(decl, FixedInt):
        return dice.choice((decl.low, decl.high, 0, 1, max(decl.low, -1), dice.randint(decl.low, decl.high)))
    if isinstance(decl, Bool):
        return dice.random() < 0.5
    if isinstance(decl, Float64):
        return dice.choice((0.5, -1e300, 3.0))
    if isinstance(decl, Uuid):
        return base64.urlsafe_b64encode(dice.randbytes(16)).decode()[:22]
    if decl.kind == "string":
        return dice.choice(NAMES)
    return "" if decl.kind == "records" else base64.b64encode(dice.randbytes(dice.choice((0, 3, 30)))).decode()


def exchanges(dice):
    """Yield a request and a response of each version of each api, as documents."""
    catalog = kwire_cli.catalog()
    for api in catalog.apis:
        for number in range(2):
            if not api.request or not api.response:
                continue
            request, response = catalog.message(api.request), catalog.message(api.response)
            for version in range(request.valid_versions.low, request.valid_versions.high + 1):
                for kind, spec in (("request", request), ("response", response)):
                    body = value(dice, declare(spec, version))
                    if kind == "request" and "acks" in body:
                        body["acks"] = 1
                    names_client = kind == "request" and (api.name, version) != ("ControlledShutdown", 0)
                    header = {"correlationId": 7 + number} | ({"clientId": "kwire"} if names_client else {})
                    yield {"kind": kind, "api": api.name, "apiVersion": version, "header": header, "body": body}


def test_every_version_of_every_message_has_the_values_of_kwire(lua, tmp_path):
    path = tmp_path / "all.pcap"
    with path.open("wb") as file:
        capture = CaptureFile(file.write, "pcap")
        for number, document in enumerate(exchanges(random.Random(1))):
            data = kwire_cli.message.encode.encode_document(kwire_cli.catalog(), document)
            ends = (f"10.0.0.1:{10000 + number // 2}", "10.0.0.2:9092")
            capture.add(data, ends, to_broker=document["kind"] == "request", time=1_700_000_000_000_000_000 + number)
    frames, fields = hold(lua, path)
    assert frames > 1400
    assert fields > 20_000
