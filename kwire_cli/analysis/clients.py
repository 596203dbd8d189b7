"""The question about clients: the versions that they use, and the versions that a Kafka release refuses (KIP-896).

The queries in `questions/clients` find the clients in tables of traffic and give a verdict on each version. This module
defines the columns of the answer.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.stats import UNSAID
from kwire_cli.answer import Answer, Column, Fact, Facts, Note, Table
from kwire_cli.questions.traffic import Traffic, queries_in, rows_of
from kwire_cli.spec.accepted import accepted_by
from kwire_cli.spec.kafka import PRODUCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.answer import Block
    from kwire_cli.message.redaction import Redaction

REFUSED = "refused"
CAPPED = "capped"
UNCLEAR = "unclear"
DEPRECATED = "deprecated"
ACCEPTED = "accepted"
VERDICTS = (REFUSED, CAPPED, UNCLEAR, DEPRECATED, ACCEPTED)
"""The verdicts from worst to best, in the order of ranks in `questions/clients/versions.sql`.

Capped: the client used the highest version of an old broker, and may support higher ones. Unclear: the input does not
show the version that the client would use.
"""
BATCHES_SINCE = 3
"""The first version of Produce in which all records are in record batches (KIP-98).

Earlier versions contain message sets with magic 0 and 1.
"""


class Clients(Traffic):
    """Clients, and the versions that each of them uses."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction, queries_in("clients"))

    def answer(self, upgrade_to: str | None = None, upgrade_from: str | None = None) -> Answer:
        """Return the clients and the versions that each client uses. Nothing can be added afterwards.

        With `upgrade_to`, the release to which brokers will be upgraded, clients with the worst verdicts come first.
        `upgrade_from` is the current release of brokers without an ApiVersions response in the input.
        """
        release = accepted_by(upgrade_to).release if upgrade_to else None
        today = accepted_by(upgrade_from).release if upgrade_from else None
        with self.filled():
            clients = self.rows("clients")
            versions = self.rows("versions", release=release, today=today)
            forwarded = sum(row["requests"] for row in self.rows("forwarded"))
            blocks = [*client_blocks(clients, versions, release)]
        if forwarded:
            requests = "1 request was" if forwarded == 1 else f"{forwarded} requests were"
            blocks.append(Note(f"{requests} forwarded by other brokers, whose own logs say from whom", "info"))
        return Answer("clients", blocks, found=release is not None and any(row["rank"] == 0 for row in versions))


_WHO = (
    Column("clientId", title="client", absent=UNSAID),
    Column("software", keep=2),
    Column("address", keep=3),
    Column("capture", keep=4),
    Column("principals", "list", wide=True),
)
_WHEN = (Column("requests", "count", keep=1), Column("first", "instant", "first seen", keep=6))
_LAST = Column("last", "instant", "last seen", keep=5)
_ERRORS = Column("errors", "map", level="error", keep=4)
_VERDICT = Column("verdict", level="warning")
CLIENTS = (*_WHO, *_WHEN, _LAST, _ERRORS, Column("apis", "list"))
JUDGED_CLIENTS = (*_WHO, _VERDICT, *_WHEN, _LAST, _ERRORS, Column("apis", "list", wide=True))
VERSIONS = (
    *_WHO,
    Column("apiKey", "id", wide=True),
    Column("api"),
    Column("apiVersion", "id", title="version"),
    Column("requests", "count", keep=1),
    Column("first", "instant", wide=True),
    Column("last", "instant", wide=True),
    Column("errors", "map", wide=True),
    Column("brokers", "list", wide=True),
    Column("messageFormats", "map", wide=True),
)
JUDGED_VERSIONS = (*VERSIONS, _VERDICT, Column("reason"))


def client_blocks(
    clients: Sequence[Mapping[str, Any]], versions: Sequence[Mapping[str, Any]], release: str | None
) -> Iterator[Block]:
    """Yield the facts and tables of rows of `questions/clients`.

    With `release`, only clients and versions that are not accepted are displayed. Programs get all rows.
    """
    if release is None:
        yield Table("clients", CLIENTS, rows_of(CLIENTS, clients))
        yield Table("versions", VERSIONS, rows_of(VERSIONS, versions), shown=0)
        return
    ranks = {_who(row): row["worst_rank"] for row in versions}
    counts = Counter(ranks.values())
    yield Facts(
        [
            Fact("upgradeTo", release),
            Fact("clients", len(clients), "count"),
            Fact("verdicts", {VERDICTS[rank]: counts[rank] for rank in sorted(counts)}, "map"),
        ]
    )
    best = VERDICTS.index(ACCEPTED)
    ranked = sorted(clients, key=lambda row: ranks[_who(row)])
    judged = [{**row, "verdict": VERDICTS[ranks[_who(row)]]} for row in ranked]
    rows = rows_of(JUDGED_CLIENTS, judged)
    yield Table("clients", JUDGED_CLIENTS, rows, shown=sum(rank < best for rank in ranks.values()))
    judged = [{**row, "verdict": VERDICTS[row["rank"]], "reason": _reason(row)} for row in versions]
    rows = rows_of(JUDGED_VERSIONS, judged)
    yield Table("versions", JUDGED_VERSIONS, rows, shown=sum(row["rank"] < best for row in versions))


def _who(row: Mapping[str, Any]) -> tuple[str | None, ...]:
    return row["client_id"], row["software"], row["address"], row["capture"]


def _reason(row: Mapping[str, Any]) -> str | None:
    """Return the reason why a version is not accepted, with the old message formats in its requests.

    A request log does not contain message formats. Their counts are empty in this case.
    """
    reason: str | None = row["reason"]
    if reason is None or row["api_key"] != PRODUCE or row["api_version"] >= BATCHES_SINCE:
        return reason
    formats = " and ".join(f"{count} in v{magic}" for magic, count in row["message_formats"].items()) or "v0 or v1"
    return f"{reason}; it writes old messages ({formats})"
