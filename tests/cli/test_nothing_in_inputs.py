"""Inputs that are readable and empty: captures without packets, partitions without batches."""

import shutil

import pytest
from kit.commands import ROOT, kwire, refusal_of
from kit.traffic import ethernet, packet, pcap_file

import kwire_cli

REFUSED = ROOT / "samples/incidents/refused.pcap"
SEGMENT = f"{0:020}.log"
LOGS = ("summary", "diagnose", "groups", "transactions")
TRAFFIC = (*LOGS, "stats", "clients", "sequence", "decode", "overhead", "compare")
HEAD, PACKET_HEAD = 24, 16


@pytest.fixture
def partition(tmp_path):
    """The folder of a partition to which nothing was written yet."""
    folder = tmp_path / "fresh-0"
    folder.mkdir()
    (folder / SEGMENT).touch()
    for name in (f"{0:020}.index", f"{0:020}.timeindex"):
        (folder / name).write_bytes(bytes(4092))
    (folder / "leader-epoch-checkpoint").write_text("0\n0\n")
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: aaaaaaaaaaaaaaaaaaaaaA\n")
    return folder


@pytest.fixture
def capture(tmp_path):
    """A capture without packets."""
    path = tmp_path / "empty.pcap"
    path.write_bytes(REFUSED.read_bytes()[:HEAD])
    return path


@pytest.mark.parametrize("command", TRAFFIC)
def test_a_capture_without_packets_is_empty(command, capture):
    assert refusal_of(command, capture) == f"kwire: {capture}: no packets: this capture is empty\n"


@pytest.mark.parametrize("command", TRAFFIC)
def test_a_capture_without_tcp_counts_its_packets_by_kind(command, tmp_path):
    path = tmp_path / "dsl.pcap"
    path.write_bytes(pcap_file([packet(ethernet(bytes(60), 0x8864)), packet(ethernet(bytes(28), 0x0806))]))
    assert refusal_of(command, path) == f"kwire: {path}: no TCP that kwire reads in 2 packets: 1 pppoe, 1 arp\n"


@pytest.mark.parametrize("command", [*LOGS, "overhead", "compare", "compare --advise"])
def test_a_partition_without_batches_is_empty(command, partition):
    for place in (partition, partition / SEGMENT):
        assert refusal_of(*command.split(), place) == f"kwire: {place}: no batches: 1 segment of 0 bytes\n"


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_dump_shows_that_a_partition_has_no_batches(form, partition):
    """It shows what is there, which is no question that would need batches."""
    done = kwire("dump", "-f", form, partition)
    assert (done.code, done.err) == (0, "kwire: 0 batches in 1 file\n")


@pytest.mark.parametrize("command", ["groups", "transactions"])
def test_a_log_without_a_batch_that_can_be_read_is_no_answer(command, partition):
    segment = partition / SEGMENT
    segment.write_bytes(bytes(range(1, 256)) * 10)
    assert refusal_of(command, partition) == f"kwire: {partition}: no batch that kwire can read\n"
    shutil.copy(ROOT / "samples/segments/txn-out-0" / SEGMENT, partition / f"{5:020}.log")
    assert kwire(command, partition).code == 0


def test_a_partition_of_zeros_has_no_batches_to_compare(partition):
    (partition / SEGMENT).write_bytes(bytes(4096))
    done = kwire("compare", partition)
    assert (done.code, done.err) == (2, f"kwire: {partition}: there are no record batches in this\n")


def test_an_empty_segment_among_others_is_no_error(partition):
    shutil.copy(ROOT / "samples/segments/txn-out-0" / SEGMENT, partition / f"{5:020}.log")
    for command in ("dump", "overhead", "compare"):
        assert kwire(command, partition).code == 0
    assert kwire("dump", "--topic", "another", partition).code == 0


def test_an_empty_segment_among_messages(partition):
    done = kwire("decode", partition / SEGMENT)
    assert (done.code, done.err) == (2, f"kwire: {partition / SEGMENT}: no batches: 1 segment of 0 bytes\n")


def test_each_of_several_inputs_is_named(partition):
    other = partition.parent / "fresh-1"
    partition.rename(other)
    partition.mkdir()
    (partition / SEGMENT).touch()
    done = kwire("summary", partition, other)
    reason = "no batches: 1 segment of 0 bytes"
    assert (done.code, done.err) == (2, f"kwire: {partition}: {reason}; {other}: {reason}\n")
    assert kwire("summary", partition, REFUSED).code == 0


def test_a_capture_that_ends_in_its_first_packet_has_no_whole_one(capture):
    capture.write_bytes(REFUSED.read_bytes()[: HEAD + PACKET_HEAD // 2])
    done = kwire("summary", capture)
    assert (done.code, done.err.splitlines()[1:]) == (2, [f"kwire: {capture}: no whole packet in this capture"])


def test_packets_without_kafka_may_need_the_port(capture):
    data = REFUSED.read_bytes()
    size = int.from_bytes(data[HEAD + 8 : HEAD + 12], "little")
    capture.write_bytes(data[: HEAD + PACKET_HEAD + size])
    assert "there is no request of Kafka and no batch in this; --port says which port is the broker's" in refusal_of(
        "groups", capture
    )


def test_the_library_says_so_too(capture):
    with pytest.raises(kwire_cli.InputError, match="no packets: this capture is empty"):
        kwire_cli.ask("summary", capture)
