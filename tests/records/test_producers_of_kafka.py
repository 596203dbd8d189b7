"""The state of producers against Kafka's own ProducerStateManager, which ProducerStates.java runs."""

import random
from pathlib import Path

import pytest
from kit.commands import ROOT
from kit.logs import TIME, batch_at, marker
from kit.peers import jars, java

from kwire_cli.records.batch import Batch
from kwire_cli.records.producers import ProducerState
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import walk
from kwire_cli.source.logs.model import Kind

STORAGE = {
    "org/apache/kafka/kafka-storage/4.3.1/kafka-storage-4.3.1.jar": "97e3facddd29",
    "org/apache/kafka/kafka-clients/4.3.1/kafka-clients-4.3.1.jar": "52501b7b4751",
    "org/apache/kafka/kafka-server-common/4.3.1/kafka-server-common-4.3.1.jar": "d7c719f74957",
    "org/apache/kafka/kafka-storage-api/4.3.1/kafka-storage-api-4.3.1.jar": "bc2b22639fa5",
    "org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar": "d3ef575e3e49",
}
"""Kafka's storage and its libraries, with the beginnings of their SHA-256."""
REAL = ROOT.parent / "shared" / "real" / "own" / "segments"

pytestmark = pytest.mark.slow  # downloads, and starts Java


def states(pytestconfig, partitions):
    """Return the state of each partition by Kafka: its words, some of them numbers."""
    lines = [" ".join(map(str, files)) for files in partitions]
    program = Path(__file__).with_name("ProducerStates.java")
    return [line.split() for line in java(jars(pytestconfig.cache, STORAGE), program, lines)]


def state(files):
    """Return the same by ProducerState; None stands for a number that is not known."""
    out = []
    own = ProducerState()
    for item in (item for file in files for item in items(source_of(file))):
        if not isinstance(item, Batch) or not item.crc_valid:
            continue
        ended = own.append(item).ended
        if ended and ended.first_offset >= 0 and not ended.marker.commit:
            stable = ended.marker.last_stable_offset
            out.append(("aborted", ended.producer_id, ended.first_offset, item.head.last_offset, stable))
    for producer_id, it in sorted(own.by_id.items()):
        transaction = own.open.get(producer_id)
        first = transaction.first_offset if transaction else -1
        last = it.epoch, it.last_sequence, it.last_offset, None, it.timestamp, it.coordinator_epoch
        out.append(("producer", producer_id, *last, first))
    return [*out, ("stable", min((other.first_offset for other in own.open.values()), default=-1))]


def are_equal(own, theirs):
    words = [word.split(":") for word in theirs]
    return len(own) == len(words) and all(
        len(ours) == len(other) and all(a is None or str(a) == b for a, b in zip(ours, other, strict=True))
        for ours, other in zip(own, words, strict=True)
    )


def write_log(folder, seed):
    """Write a log of four producers with transactions, gaps, compaction and long pauses; return its file."""
    chance = random.Random(seed)
    epochs = dict.fromkeys(range(4), 0)
    sequences = dict.fromkeys(range(4), 0)
    opened = set()
    parts = []
    offset = 0
    time = TIME
    for _ in range(chance.randint(10, 80)):
        producer = chance.randrange(4)
        count = chance.randint(1, 4)
        time += chance.choice([1, 1000, 1000, 90_000_000])
        if producer and chance.random() < 0.3:
            epochs[producer] += chance.random() < 0.4
            coordinator = chance.randrange(3)
            commit = chance.random() < 0.5
            head = {"producer": producer, "epoch": epochs[producer], "coordinator": coordinator, "time": time}
            parts.append(marker(offset, commit=commit, **head))
            opened.discard(producer)
            offset += 1
            continue
        sequences[producer] += chance.choice([0] * 9 + [3])
        gone = producer not in opened and chance.random() < 0.2
        if not gone:
            kept = count if chance.random() < 0.8 else count - 1
            head = {"producer": producer, "epoch": epochs[producer], "sequence": sequences[producer], "time": time}
            parts.append(batch_at(offset, count, transactional=producer > 0, kept=kept, **head))
            opened |= {producer} if producer else set()
        sequences[producer] += count
        offset += count
    path = folder / f"{seed}.log"
    path.write_bytes(b"".join(parts))
    return path


def test_made_logs_leave_the_state_that_kafka_has(pytestconfig, tmp_path):
    partitions = [[write_log(tmp_path, seed)] for seed in range(200)]
    unlike = [
        files
        for files, theirs in zip(partitions, states(pytestconfig, partitions), strict=True)
        if not are_equal(state(files), theirs)
    ]
    assert unlike == []


@pytest.mark.shared
def test_real_logs_leave_the_state_that_kafka_has(pytestconfig):
    parts = [part for name in sorted(REAL.iterdir()) for part in walk(name).partitions]
    partitions = [[file.path for file in part.of(Kind.LOG)] for part in parts]
    partitions = [files for files in partitions if files]
    found = [*map(state, partitions)]
    theirs = states(pytestconfig, partitions)
    assert [
        files for files, own, other in zip(partitions, found, theirs, strict=True) if not are_equal(own, other)
    ] == []
    assert sum(len(own) - 1 for own in found) > 80
