"""Packets of the chosen frames, copied from captures."""

import gzip

import pytest
from kit.captures import BROKER, BROKER_KEYS, SAMPLES
from kit.commands import kwire, lines_of, refusal_of
from kit.traffic import block, enhanced, interface, option, pcap_file, section

from kwire_cli.source.packets.files import packets
from kwire_cli.structs.network import ENHANCED_PACKET_BLOCK, PCAP_NANO, PCAPNG, TLS_KEY_LOG

PCAP = SAMPLES / "incidents" / "rebalancing.pcap"
PCAPNG_FILE = SAMPLES / "captures" / "kafka-python-4.4.0.pcapng"
SASL = SAMPLES / "incidents" / "sasl.pcap"
SEGMENT = SAMPLES / "segments" / "orders-zstd-0" / "00000000000000000000.log"
LOG = SAMPLES / "request-logs" / "kafka-request.log"
RAW = 101
"""A link type of packets that begin with IP."""
KEPT = ("time", "src", "dst", "kind", "size", "header", "body")
CHOICE = ("--filter", "api == Metadata", "--pairs")


def lines(path, *options):
    return lines_of("decode", path, *options)


def frames(path, *options):
    return [
        {key: line[key] for key in KEPT} for line in lines(path, *options) if line["kind"] in {"request", "response"}
    ]


def read(path):
    return [each[1:] for each in packets(str(path))]


def copy(path, out, *options):
    done = kwire("decode", path, *options, "-o", out)
    assert done.code == 0, done.err
    return done


@pytest.mark.parametrize("name", ["ticket.pcap", "ticket.pcapng"])
@pytest.mark.parametrize("path", [PCAP, PCAPNG_FILE], ids=lambda path: path.name)
def test_the_chosen_frames_are_in_the_copy(tmp_path, path, name):
    out = tmp_path / name
    done = copy(path, out, *CHOICE)
    chosen = frames(path, "--filter", "api == Metadata")
    assert len(chosen) > 5
    assert frames(out) == chosen
    rest = iter(read(path))
    assert all(each in rest for each in read(out))  # the same packets in the same order
    assert done.err.startswith(f"kwire: {len(read(out))} packets copied as captured")


def test_a_packed_capture_is_copied(tmp_path):
    packed = tmp_path / "packed.pcapng.gz"
    packed.write_bytes(gzip.compress(PCAPNG_FILE.read_bytes()))
    copy(packed, tmp_path / "packed.pcapng", *CHOICE)
    copy(PCAPNG_FILE, tmp_path / "plain.pcapng", *CHOICE)
    assert (tmp_path / "packed.pcapng").read_bytes() == (tmp_path / "plain.pcapng").read_bytes()


def test_a_frame_in_several_packets_has_all_of_them(tmp_path):
    path, out = SAMPLES / "incidents" / "window.pcap", tmp_path / "one.pcap"
    (frame,) = lines(path, "--filter", "size > 20000")
    copy(path, out, "--frames", frame["frame"])
    assert len(read(out)) > 1
    assert [line["size"] for line in lines(out)] == [frame["size"]]


@pytest.mark.parametrize("magic", [0xA1B2C3D4, PCAP_NANO])
def test_the_link_type_of_pcap_stays_and_its_times_have_nanoseconds(tmp_path, magic):
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    made = list(packets(str(SAMPLES / "captures" / "ipv6.pcap")))
    path.write_bytes(pcap_file([each._replace(data=each.data[14:], link=RAW) for each in made], magic=magic, link=RAW))
    copy(path, out, "--filter", "api == ApiVersions")
    assert out.read_bytes()[:4] == PCAP_NANO.to_bytes(4, "little")
    assert out.read_bytes()[20:24] == path.read_bytes()[20:24]
    assert set(read(out)) <= set(read(path))


@pytest.mark.parametrize("order", ["<", ">"])
def test_comments_interfaces_and_keys_of_pcapng_stay(tmp_path, order):
    path, out = tmp_path / "in.pcapng", tmp_path / "out.pcapng"
    made = list(packets(str(SAMPLES / "captures" / "ipv6.pcap")))
    comment = option(order, 1, b"seen by the balancer") + option(order, 0, b"")
    head = section(order) + interface(order, options=option(order, 2, b"eth7") + option(order, 0, b""))
    names = block(order, 4, bytes(4))  # a block of another kind
    keys = block(order, 10, PCAPNG[order].secrets.build({"secrets_type": TLS_KEY_LOG, "secrets_length": 4}) + b"# no")
    blocks = []
    for each in made:
        fixed = enhanced(order, each)[8:-4]
        blocks.append(block(order, ENHANCED_PACKET_BLOCK, fixed + comment))
    path.write_bytes(head + names + keys + b"".join(blocks))
    copy(path, out, "--filter", "api == ApiVersions")
    kept = [blocks[line["packet"] - 1] for line in lines(path, "--filter", "api == ApiVersions")]
    assert len(kept) > 1
    assert out.read_bytes() == head + keys + b"".join(kept)


def test_several_captures_become_one(tmp_path):
    out = tmp_path / "both.pcapng"
    copied = kwire("decode", PCAP, PCAPNG_FILE, "--filter", "api == Metadata", "-o", out)
    assert copied.code == 0
    assert len(frames(out)) == len(frames(PCAP, *CHOICE[:2])) + len(frames(PCAPNG_FILE, *CHOICE[:2]))


def test_link_types_do_not_mix_in_pcap(tmp_path):
    other = tmp_path / "raw.pcap"
    made = packets(str(SAMPLES / "captures" / "ipv6.pcap"))
    other.write_bytes(pcap_file([each._replace(data=each.data[14:]) for each in made], link=RAW))
    assert "one link type" in refusal_of("decode", PCAP, other, "-o", tmp_path / "x.pcap")
    assert not (tmp_path / "x.pcap").exists()


def test_a_whole_connection_with_tls_can_be_decrypted_in_the_copy(tmp_path):
    out, keys = tmp_path / "tls.pcapng", ("--tls-keylog", BROKER_KEYS)
    streams = {line["stream"] for line in lines(BROKER, *keys) if line["kind"] == "request"}
    chosen = ("--filter", f"stream == {min(streams)}")
    copy(BROKER, out, *keys, *chosen)
    assert frames(out, *keys) == frames(BROKER, *keys, *chosen)


def test_secrets_are_in_the_copy(tmp_path):
    out = tmp_path / "sasl.pcap"
    copy(SASL, out, "--filter", "api == SaslAuthenticate")
    shown = ("--show-secrets", "--filter", "api == SaslAuthenticate")
    assert frames(out, *shown) == frames(SASL, *shown)


@pytest.mark.parametrize("name", ["none.pcap", "none.pcapng"])
def test_nothing_chosen_is_an_empty_capture(tmp_path, name):
    done = copy(PCAP, tmp_path / name, "--filter", "api == AlterPartition")
    assert "no frame matches" in done.err
    assert read(tmp_path / name) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("0000000d00120000000000070003617070",), "--format pcap is for captures"),
        ((SEGMENT,), "--format pcap is for captures"),
        ((LOG,), "--format pcap is for captures"),
        (("--follow", PCAP), "without --follow"),
    ],
)
def test_other_inputs_are_refused(tmp_path, words, reason):
    assert reason in refusal_of("decode", *words, "-o", tmp_path / "x.pcap").replace("\n", " ")
    assert not (tmp_path / "x.pcap").exists()


def test_a_pipe_is_refused(tmp_path):
    assert "save the pipe to a file first" in refusal_of(
        "decode", "-", "-o", tmp_path / "x.pcap", stdin=PCAP.read_bytes()
    )


def test_packets_are_not_written_to_a_terminal():
    done = kwire("decode", PCAP, "--format", "pcap", terminal=True)
    assert (done.code, "write it to a file with -o frames.pcap" in done.err.replace("\n", " ")) == (2, True)
