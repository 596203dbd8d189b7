"""All rules at once over bodies that hold anything: no rule fails, and no sentence grows with the input."""

from itertools import islice

import pytest
from kit.calls import hostile_calls
from kit.rules import CATALOG, RULES, fill

from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.diagnose import findings

APIS = {
    "Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
    "SyncGroup", "ApiVersions", "CreateTopics", "InitProducerId", "ConsumerGroupHeartbeat", "TxnOffsetCommit",
}  # fmt: skip
STEP = 13
"""One of so many hostile calls is taken: there are many of each kind."""


@pytest.mark.parametrize("errors", [(), ("NOT_LEADER_OR_FOLLOWER", "OFFSET_OUT_OF_RANGE", 7)])
def test_bodies_of_wrong_types_break_no_rule(errors):
    tables = Tables(Redaction(CATALOG), [rule.query for rule in RULES.values()])
    try:
        for replayed in REPLAYED:
            for name, columns in replayed.columns.items():
                tables.create(name, [column[:2] for column in columns])
        fill(tables, [*islice(hostile_calls(APIS, errors), 0, None, STEP)])
        for row in findings(tables, [*RULES.values()]):
            assert len(row.subject + row.text) < 1000
    finally:
        tables.close()
