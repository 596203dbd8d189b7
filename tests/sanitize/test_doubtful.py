"""What is not what it seems: it becomes blank, or is replaced."""

import packets as make
import pytest
from command_line import kwire

from kwire_cli.source.capture.files import packets
from kwire_cli.source.capture.reading import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.network.transport import SYN

CATALOG = catalog((), None)
PORTS = ({}, {"source_port": 9092, "destination_port": 50000})
ENDS = ({}, {"source": make.SERVER, "destination": make.CLIENT})


@pytest.fixture
def sanitized(tmp_path):
    """What is said on a connection, as (side, bytes), to what stands in its place; the side may be missing at the start."""

    def done(*said):
        path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
        at, made = [1000, 5000], []
        for side, data, flags in [(0, b"", SYN), *((side, data, 16) for side, data in said)]:
            segment = make.tcp(data, at[side], at[1 - side], flags, **PORTS[side])
            made.append(make.packet(make.ethernet(make.ipv4(segment, **ENDS[side]), padded=False), len(made) + 1))
            at[side] += len(data) or 1
        path.write_bytes(make.pcap_file(made))
        assert kwire("sanitize", path, out, "--key", "k", "--force").code == 0
        return [bytes(each.data[-len(data) :]) for each, (_, data) in zip(list(packets(out))[1:], said, strict=True)]

    done.files = tmp_path / "in.pcap", tmp_path / "out.pcap"
    return done


def lines(path):
    return [(line.kind, line.api, line.seen.size, line.seen.packet, line.time) for line in traffic(CATALOG, Capture(path))]


def software(wire, name, version="1.0"):
    return wire.request("ApiVersions", 3, client="me", clientSoftwareName=name, clientSoftwareVersion=version)


@pytest.mark.parametrize("name", ["kafka-python", "apache-kafka-java", "librdkafka", "x", "a" * 64])
def test_names_of_software_stay(name, sanitized, wire):
    (shown,) = sanitized((0, software(wire, name, "v2.13.0-PRE1")))
    assert name.encode() in shown
    assert b"v2.13.0-PRE1" in shown


@pytest.mark.parametrize("name", ["user=alice password=hunter2", "10.20.30.40/prod", "-hunter2", "hunter2.", "hunter2\n", "hünter2", "a" * 65])
def test_what_is_no_name_of_software_is_replaced(name, sanitized, wire):
    for frame in (software(wire, name), software(wire, "x", name)):
        (shown,) = sanitized((0, frame))
        assert len(shown) == len(frame)
        assert name.encode() not in shown
        assert b"hunter2" not in shown


def test_the_name_of_software_in_a_request_in_which_something_is_odd_is_replaced(sanitized, wire):
    frame = software(wire, "kafka-python")
    odd = wire.raw(frame[4:] + b"more")
    assert b"kafka-python" not in sanitized((0, odd))[0]


def test_features_stay_if_they_are_those_of_kafka(sanitized, wire):
    features = [{"name": name, "minVersion": 0, "maxVersion": 1} for name in ("metadata.version", "acme.secret.feature")]
    answer = wire.response("ApiVersions", 3, supportedFeatures=features)
    _, shown = sanitized((0, software(wire, "x")), (1, answer))
    assert b"metadata.version" in shown
    assert b"acme" not in shown
