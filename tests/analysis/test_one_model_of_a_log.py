"""Verification, state, transactions and diagnosis agree on sequences and open transactions of the same logs."""

import shutil

import pytest
from kit.calls import answer_document, log_batch, subjects
from kit.commands import ROOT
from kit.logs import b64, keyed

import kwire_cli as kwire
from kwire_cli.analysis.state.lag import ends_of
from kwire_cli.analysis.state.topics import Log
from kwire_cli.analysis.transactions.logs import LogTransactions
from kwire_cli.analysis.transactions.transactions import Transactions
from kwire_cli.analysis.verify import verify_part
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.batch import Batch
from kwire_cli.records.producers import ProducerState
from kwire_cli.source.log_inputs import log_file
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import partition, walk
from kwire_cli.source.logs.model import Kind

REAL = ROOT.parent / "shared" / "real" / "own" / "segments"
SEQUENCES = {"SEQUENCE_GAP", "SEQUENCE_DUPLICATE"}


def says(folder):
    """Return the open transactions by each question, and the offsets of faults in sequences by both that ask."""
    transactions = Transactions(Redaction(kwire.catalog()))
    logs = LogTransactions()
    state = None
    for item in subjects(folder):
        transactions.add(item)
        logs.add(item)
        if isinstance(item.item, Batch) and item.item.crc_valid:
            state = state or ProducerState(item.item.head.base_offset)
            state.append(item.item)
    held = answer_document(transactions.answer())["tables"].get("heldBack", [])
    open_ = {
        "transactions": {(row["producerId"], row["firstOffset"]) for row in held},
        "batches": {(own.producer_id, own.first_offset) for own in state.open.values()} if state else set(),
    }
    faults = [*verify_part(folder)]
    odd = {
        "verify": [fault.offset for fault in faults if fault.code in SEQUENCES],
        "diagnosis": [row.place.offset for row in logs.problems if row.code in SEQUENCES],
    }
    return open_, odd, {fault.code for fault in faults} - SEQUENCES


def all_equal(values):
    values = [*values]
    return all(value == values[0] for value in values)


def pending_offsets(folder):
    """Return the producers whose transactions are open in a log of committed offsets, by the state and by batches."""
    log = Log(
        kwire.catalog(), "__consumer_offsets", 0, [log_file(file.path) for file in partition(folder).of(Kind.LOG)]
    )
    producers = ProducerState(log.begin, sequences=False)
    for item in subjects(folder):
        producers.append(item.item)
    return {row["producerId"] for name, row in log.folded().rows(hide=None) if name == "pendingOffsets"}, {
        *producers.open
    }


def test_the_state_of_compacted_offsets_has_the_open_transactions(tmp_path):
    def commits(offset, producer):
        value = {"offset": 1, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 1}
        key = {"group": "g", "topic": "t", "partition": producer}
        pair = [b64(part) for part in keyed(1, "OffsetCommit", key, value, version=3)]
        batch = open_data(offset, "", producer=producer)
        return batch | {"records": [batch["records"][0] | dict(zip(("key", "value"), pair, strict=True))]}

    log = [
        commits(2, 4),
        commits(5, 5),
        commits(6, 6),
        marker(9, "commit", producer=4),
        marker(11, "abort", producer=6),
    ]
    by_state, by_batches = pending_offsets(written(tmp_path / "__consumer_offsets-0", *log))
    assert by_state == by_batches == {5}


@pytest.mark.slow
@pytest.mark.shared
def test_all_say_the_same_of_real_logs():
    folders = [part.path for name in REAL.iterdir() for part in walk(name).partitions]
    open_in = {}
    for folder in folders:
        open_, odd, _ = says(folder)
        assert all_equal(open_.values()), (folder, open_)
        assert all_equal(odd.values()), (folder, odd)
        if open_["batches"]:
            open_in[folder.name] = open_["batches"]
        # A broker writes a snapshot when it stops.
        snapshots = partition(folder).of(Kind.PRODUCER_SNAPSHOT)
        if snapshots and snapshots[-1].name.base_offset == ends_of(partition(folder)).end:
            entries = read_log_file(snapshots[-1].path).entries
            written = {(entry.producer_id, entry.current_txn_first_offset) for entry in entries}
            assert {pair for pair in written if pair[1] >= 0} == open_["batches"], folder
    assert len(folders) > 100
    assert open_in == {"txn2-out-1": {(6, 10)}}


def written(folder, *batches, number=0):
    folder.mkdir(exist_ok=True)
    (folder / f"{number:020}.log").write_bytes(kwire.write_records([*batches]))
    return folder


def data(offset, *values, sequence=0, producer=4, epoch=0, **fields):
    return log_batch(offset, *values, baseSequence=sequence, producerId=producer, producerEpoch=epoch, **fields)


def marker(offset, kind, producer=4, epoch=0):
    record = {"timestamp": 1_000_500, "key": "AAAAAQ==" if kind == "commit" else "AAAAAA==", "value": "AAAAAAAA"}
    fields = {"isTransactional": True, "isControl": True, "producerId": producer, "producerEpoch": epoch}
    return {"baseOffset": offset, "records": [record], **fields}


def open_data(offset, *values, **fields):
    return data(offset, *values, isTransactional=True, **fields)


LOGS = {
    "committed": ([open_data(0, "a", "b"), marker(2, "commit")], set(), []),
    "aborted, and another one open": (
        [open_data(0, "a"), open_data(1, "b", producer=5), marker(2, "abort")],
        {(5, 1)},
        [],
    ),
    "open after a marker with the next epoch": (
        [open_data(0, "a"), marker(1, "commit", epoch=1), open_data(2, "b", epoch=1)],
        {(4, 2)},
        [],
    ),
    "an older epoch": ([data(0, "a", epoch=3), open_data(1, "b", epoch=2)], {(4, 1)}, []),
    "a gap": ([data(0, "a"), data(1, "b", sequence=2)], set(), [1]),
    "a gap at the begin of an epoch": ([data(0, "a"), data(1, "b", sequence=2, epoch=1)], set(), [1]),
    "again": ([data(0, "a"), data(1, "b", sequence=1), data(2, "b", sequence=1)], set(), [2]),
    "compacted": ([data(0, "a"), data(5, "b", sequence=9), data(6, "c", sequence=11)], set(), [6]),
    "compacted, with a marker": ([open_data(3, "a"), data(8, "x", producer=9), marker(9, "commit")], set(), []),
    "compacted, without the first batches": ([marker(4, "abort"), open_data(7, "a", sequence=6)], {(4, 7)}, []),
    "a transaction over missing offsets": ([open_data(0, "a"), open_data(9, "b", sequence=5)], {(4, 0)}, []),
}


@pytest.mark.parametrize(("batches", "open_", "odd"), LOGS.values(), ids=LOGS)
def test_all_say_the_same_of_small_logs(tmp_path, batches, open_, odd):
    folder = written(tmp_path / "a-0", *batches)
    found, sequences, _ = says(folder)
    assert found == dict.fromkeys(found, open_)
    assert sequences == dict.fromkeys(sequences, odd)


def test_a_batch_with_a_wrong_checksum_begins_no_transaction(tmp_path):
    folder = written(tmp_path / "a-0", data(0, "a"), open_data(1, "b", producer=5), data(2, "c", sequence=1))
    log = folder / f"{0:020}.log"
    (at,) = [item.position for item in (each.item for each in subjects(folder)) if item.head.producer_id == 5]
    damaged = bytearray(log.read_bytes())
    damaged[at + 60] ^= 1  # in the number of its records
    log.write_bytes(damaged)
    found, odd, _ = says(folder)
    assert found == {who: set() for who in found}
    assert odd == {"verify": [], "diagnosis": []}


def test_copies_of_real_logs_agree_with_batches_missing(tmp_path):
    folder = tmp_path / "payments-0"
    shutil.copytree(ROOT / "samples" / "incidents" / "hanging-transaction" / "payments-0", folder)
    log = folder / f"{0:020}.log"
    whole = log.read_bytes()
    batches = [each.item for each in subjects(folder)]
    for gone in batches:
        log.write_bytes(whole[: gone.position] + whole[gone.end :])
        found, odd, _ = says(folder)
        assert all_equal(found.values()), gone.head
        assert all_equal(odd.values()), gone.head
