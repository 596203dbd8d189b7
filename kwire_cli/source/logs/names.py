"""What a file or a folder of a log directory is, by its name.

Sources: org.apache.kafka.storage.internals.log.LogFileUtils, UnifiedLog and LocalLog (names of folders), org.apache.kafka.snapshot.Snapshots.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Kind(enum.StrEnum):
    """Kinds of files. LOG and CHECKPOINT (a KRaft snapshot) hold record batches."""

    LOG = "log"
    INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    PRODUCER_SNAPSHOT = "snapshot"
    CHECKPOINT = "checkpoint"
    LEADER_EPOCHS = "leader-epoch-checkpoint"
    REPLICATION_OFFSETS = "replication-offset-checkpoint"
    RECOVERY_POINTS = "recovery-point-offset-checkpoint"
    LOG_START_OFFSETS = "log-start-offset-checkpoint"
    CLEANER_OFFSETS = "cleaner-offset-checkpoint"
    QUORUM_STATE = "quorum-state"
    PARTITION_METADATA = "partition.metadata"
    META_PROPERTIES = "meta.properties"
    CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
    LOCK = ".lock"
    OTHER = "other"


BATCH_KINDS = frozenset({Kind.LOG, Kind.CHECKPOINT})
OFFSET_CHECKPOINTS = frozenset({Kind.REPLICATION_OFFSETS, Kind.RECOVERY_POINTS, Kind.LOG_START_OFFSETS, Kind.CLEANER_OFFSETS})
SEGMENT_KINDS = (Kind.LOG, Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT, Kind.CHECKPOINT)
"""Those whose names have an offset, in the order in which they are listed."""

_BY_NAME = {kind.value: kind for kind in Kind if kind not in SEGMENT_KINDS and kind is not Kind.OTHER}
_STATES = "deleted|swap|cleaned|tmp|part"
# What stands before the offset, if anything, is of somebody who copied the file. Files of the remote index cache have an id behind the offset, and
# unfinished snapshots of KRaft a number.
_SEGMENT = re.compile(
    rf"(?:.*\D)?(?P<base>[0-9]{{20}})(?:-(?P<epoch>[0-9]{{10}})(?:-[0-9]+)?|_(?P<id>[\w-]{{22}}))?"
    rf"\.(?P<kind>{'|'.join(SEGMENT_KINDS)})(?P<suffix>(?:\.(?:{_STATES}))*)",
    re.DOTALL,
)
_WITHOUT_OFFSET = re.compile(rf".+\.(?P<kind>{'|'.join(SEGMENT_KINDS)})(?P<suffix>(?:\.(?:{_STATES}))*)", re.DOTALL)
_SUFFIXED = re.compile(rf"(?P<name>.+?)(?P<suffix>(?:\.(?:{_STATES}))*)", re.DOTALL)
_FOLDER = re.compile(r"(?P<topic>[A-Za-z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})(?:\.(?P<id>[A-Za-z0-9_-]+)-(?P<state>delete|future|stray))?")

_FOLDER_ID = re.compile(r"[0-9a-f]{32}")
"""Of folders that are to be deleted, or are of another directory's: a random UUID without its dashes."""

_LAST_OFFSET, _LAST_PARTITION = (1 << 63) - 1, (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class FileName:
    """What a name says.

    `base_offset` is the first offset of the segment; of a producer snapshot, and of a KRaft snapshot, the one after the last that it covers. It is
    None where the name has none. `epoch` is that of a KRaft snapshot. `suffix` is `deleted`, `swap`, `cleaned`, `tmp` or `part`, or several with dots
    between; empty for a file in use.
    """

    kind: Kind
    base_offset: int | None = None
    epoch: int | None = None
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class FolderName:
    """The partition that a folder is of. `state` is `delete`, `future` or `stray`, empty for one in use; `id` then stands behind the dot."""

    topic: str
    partition: int
    state: str = ""
    id: str = ""


def file_name(name: str) -> FileName:
    """What a file with this name (without folders) is; Kind.OTHER for what is not Kafka's."""
    if match := _SEGMENT.fullmatch(name):
        base, epoch = int(match["base"]), match["epoch"]
        return FileName(Kind(match["kind"]), base if base <= _LAST_OFFSET else None, int(epoch) if epoch else None, match["suffix"].lstrip("."))
    if (match := _SUFFIXED.fullmatch(name)) and match["name"] in _BY_NAME:
        return FileName(_BY_NAME[match["name"]], suffix=match["suffix"].lstrip("."))
    if match := _WITHOUT_OFFSET.fullmatch(name):
        return FileName(Kind(match["kind"]), suffix=match["suffix"].lstrip("."))
    return FileName(Kind.OTHER)


def folder_name(name: str) -> FolderName | None:
    """The partition of a folder with this name (without its parents); None where the name is not of a partition's folder."""
    match = _FOLDER.fullmatch(name)
    if not match or int(match["partition"]) > _LAST_PARTITION:
        return None
    return FolderName(match["topic"], int(match["partition"]), match["state"] or "", match["id"] or "")


def other_file_name(name: str, other: Callable[[str], str]) -> str:
    """The name of a file with `other` of all that is not what Kafka itself names files."""
    if match := _SEGMENT.fullmatch(name):
        before, start = name[: match.start("base")], match.start("base")
        if match["id"]:
            name = name.replace(match["id"], other(match["id"]))
        return (f"{other(before[:-1])}-" if before else "") + name[start:]
    if file_name(name).kind is Kind.OTHER:
        return other(name)
    match = _WITHOUT_OFFSET.fullmatch(name)
    return other(name[: match.start("kind") - 1]) + name[match.start("kind") - 1 :] if match else name


def other_folder_name(name: str, other: Callable[[str], str]) -> str:
    """The name of a folder with `other` of the topic, or of all of it where it is not of a partition's folder."""
    found = folder_name(name)
    if found is None:
        return other(name)
    partition = name[len(found.topic) :].partition(".")[0]
    kept = found.id if _FOLDER_ID.fullmatch(found.id) else other(found.id)
    return other(found.topic) + partition + (f".{kept}-{found.state}" if found.state else "")
