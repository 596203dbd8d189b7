"""Kinds of findings about groups, and the meaning of each cause of a rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.diagnosis.model import FindingKind

if TYPE_CHECKING:
    from kwire_cli.analysis.groups.timeline import Cause

LOOP = FindingKind(
    "GROUP_REBALANCE_LOOP",
    "error",
    "A group rebalances again and again for the same reason.",
    "The same client leaves, or is removed, and comes back each time. Its partitions move to other members and back.",
    "See the reason of each rebalance with kwire groups.",
    ("KIP-62", "KIP-800"),
    rank=15,
)
REBALANCE = FindingKind(
    "REBALANCE",
    "info",
    "A group rebalances.",
    "Members join or leave, or a topic changes. Until the rebalance ends, members with an eager assignor have no "
    "partitions. With a cooperative assignor or the consumer protocol, only the partitions that move are not read.",
    "Nothing, if members are started and stopped on purpose. Static members (group.instance.id) restart without a "
    "rebalance.",
    ("KIP-345", "KIP-429", "KIP-848"),
    rank=60,
)
UNCHANGED = FindingKind(
    "ASSIGNMENT_UNCHANGED",
    "info",
    "A rebalance ends with the same assignment as before.",
    "All members stopped or waited for nothing: a member that came back got what it had, or nothing had changed.",
    "Set group.instance.id where members restart. If new topics are the trigger, subscribe to names instead of a "
    "pattern, or use a cooperative assignor.",
    ("KIP-345", "KIP-429"),
    rank=61,
)
IDLE = FindingKind(
    "IDLE_MEMBER",
    "info",
    "Members of a group never get a partition.",
    "A partition belongs to one member of a group at a time: members beyond the number of partitions wait as a "
    "reserve.",
    "Give the topic more partitions, run fewer members, or use a share group, whose members share partitions.",
    ("KIP-932",),
    rank=62,
)
AGAIN = FindingKind(
    "SHARE_RECORDS_DELIVERED_AGAIN",
    "warning",
    "Records of a share group are delivered more than once.",
    "A member got the records and did not accept them: it released them, ended, or took longer than the lock on them "
    "lasts (group.share.record.lock.duration.ms). After group.share.delivery.count.limit deliveries a record is given "
    "up.",
    "Look at what the records contain, and at why members end while they work on them. If the work is slow, raise the "
    "duration of the lock. Reject records that cannot be processed.",
    ("KIP-932",),
    rank=31,
)
REFUSED = FindingKind(
    "GROUP_JOIN_REFUSED",
    "error",
    "A coordinator does not let a client into a group.",
    "The client's request does not fit the group or the broker's limits.",
    "INCONSISTENT_GROUP_PROTOCOL: give all members an assignor in common. GROUP_MAX_SIZE_REACHED: raise "
    "group.max.size. INVALID_SESSION_TIMEOUT: set session.timeout.ms between group.min.session.timeout.ms and "
    "group.max.session.timeout.ms.",
    rank=16,
)
NOT_READY = FindingKind(
    "STREAMS_GROUP_NOT_READY",
    "warning",
    "A streams group gets no tasks because topics are missing or do not match.",
    "The coordinator says that source or internal topics of the topology are missing, or that topics to be joined "
    "have different numbers of partitions.",
    "Create the source topics, and give topics that are joined the same number of partitions.",
    ("KIP-1071",),
    rank=17,
)


class Why(NamedTuple):
    """A cause as text behind a client's name, its meaning, and what to do."""

    text: str
    meaning: str
    advice: str


WHY: dict[Cause, Why] = {
    "poll": Why(
        "exceeded max.poll.interval.ms",
        "Processing one batch of records takes longer than max.poll.interval.ms. The client gives up its partitions, "
        "and joins again at its next poll. Other members read records again that it had not committed.",
        "Lower max.poll.records, raise max.poll.interval.ms, or move the work off the polling thread.",
    ),
    "session": Why(
        "vanished without leaving",
        "The broker heard nothing of the member for its session timeout: its process was killed, paused or cut off. "
        "Until the timeout, nobody reads its partitions.",
        "Find out why the process ends: the container's last state (OOMKilled), its exit code, pauses of the garbage "
        "collector. The records that it worked on at that time may be the cause.",
    ),
    "fenced": Why(
        "was fenced and joined again",
        "The coordinator removed the member while it went on working, and the member came back.",
        "Compare the time between the member's calls with the session timeout. Look for pauses of its process.",
    ),
    "restart": Why(
        "left and was started anew",
        "The process ends properly and another one takes its place: it restarts again and again, or the application "
        "creates a consumer for each piece of work.",
        "Find out why the process ends. Static members (group.instance.id) do not leave when they restart.",
    ),
    "resubscribed": Why(
        "left and came back without a restart",
        "The application unsubscribes and subscribes again, or closes its consumer and creates a new one for each "
        "piece of work.",
        "Keep one consumer and its subscription for as long as the process runs.",
    ),
    "metadata": Why(
        "joined again by itself",
        "The leader saw other topics or partitions than at the last assignment, or an assignor asked for another "
        "round.",
        "Look for topics that match a subscribed pattern and are created all the time. Raise metadata.max.age.ms.",
    ),
    "subscription": Why(
        "changed its subscription",
        "The application calls subscribe with other topics again and again.",
        "Subscribe to all topics at once, or use a group for each set of topics.",
    ),
}
