import pytest

from kwire_cli.source.logs.model import FileName, FolderName, Kind, file_name, folder_name

FILES = [
    ("00000000000000000000.log", FileName(Kind.LOG, 0)),
    ("00000000000000000042.index", FileName(Kind.INDEX, 42)),
    ("00000000000000000042.timeindex.deleted", FileName(Kind.TIME_INDEX, 42, suffix="deleted")),
    ("00000000000000000042.txnindex.cleaned", FileName(Kind.TRANSACTION_INDEX, 42, suffix="cleaned")),
    ("00000000000000000042.log.swap", FileName(Kind.LOG, 42, suffix="swap")),
    ("00000000000000000042.log.cleaned.deleted", FileName(Kind.LOG, 42, suffix="cleaned.deleted")),
    ("00000000000000000042.snapshot", FileName(Kind.PRODUCER_SNAPSHOT, 42)),
    ("00000000000000000415-0000000003.checkpoint", FileName(Kind.CHECKPOINT, 415, 3)),
    ("00000000000000000415-0000000003.checkpoint.deleted", FileName(Kind.CHECKPOINT, 415, 3, "deleted")),
    ("00000000000000000415-0000000003-8431.checkpoint.part", FileName(Kind.CHECKPOINT, 415, 3, "part")),
    ("bootstrap.checkpoint", FileName(Kind.CHECKPOINT)),
    # Of the remote index cache, and a copy.
    ("00000000000000000042_dm1lyMCiTNSOlq-vCQ9xsQ.txnindex", FileName(Kind.TRANSACTION_INDEX, 42)),
    ("__consumer_offsets-1__00000000000000000003.snapshot", FileName(Kind.PRODUCER_SNAPSHOT, 3)),
    ("99999999999999999999.log", FileName(Kind.LOG)),  # beyond int64
    ("copy.index", FileName(Kind.INDEX)),
    ("leader-epoch-checkpoint", FileName(Kind.LEADER_EPOCHS)),
    ("leader-epoch-checkpoint.tmp", FileName(Kind.LEADER_EPOCHS, suffix="tmp")),
    ("replication-offset-checkpoint", FileName(Kind.REPLICATION_OFFSETS)),
    ("recovery-point-offset-checkpoint", FileName(Kind.RECOVERY_POINTS)),
    ("log-start-offset-checkpoint", FileName(Kind.LOG_START_OFFSETS)),
    ("cleaner-offset-checkpoint", FileName(Kind.CLEANER_OFFSETS)),
    ("quorum-state", FileName(Kind.QUORUM_STATE)),
    ("partition.metadata", FileName(Kind.PARTITION_METADATA)),
    ("meta.properties", FileName(Kind.META_PROPERTIES)),
    (".kafka_cleanshutdown", FileName(Kind.CLEAN_SHUTDOWN)),
    (".lock", FileName(Kind.LOCK)),
    ("00000000000000000000.log.dump.txt", FileName(Kind.OTHER)),
    ("README.md", FileName(Kind.OTHER)),
    (".log", FileName(Kind.OTHER)),
    ("", FileName(Kind.OTHER)),
]


@pytest.mark.parametrize(("name", "said"), FILES, ids=[row[0] for row in FILES])
def test_a_file(name, said):
    assert file_name(name) == said


FOLDERS = [
    ("orders-0", FolderName("orders", 0)),
    ("my-topic.v1-12", FolderName("my-topic.v1", 12)),
    ("__cluster_metadata-0", FolderName("__cluster_metadata", 0)),
    ("orders-0.5c3f2b7e-future", FolderName("orders", 0, "future", "5c3f2b7e")),
    (
        "my.topic-3.0e8a7f64d7394b25b5b8a6a5a0a1a2a3-delete",
        FolderName("my.topic", 3, "delete", "0e8a7f64d7394b25b5b8a6a5a0a1a2a3"),
    ),
    ("orders-0.9f-stray", FolderName("orders", 0, "stray", "9f")),
    ("orders", None),
    ("orders-2147483648", None),
    ("orders-0.9f-lost", None),
    ("my backup-2", None),
    ("lost+found", None),
]


@pytest.mark.parametrize(("name", "said"), FOLDERS, ids=[row[0] for row in FOLDERS])
def test_a_folder(name, said):
    assert folder_name(name) == said
