"""Whatever the bytes of records are, folding them raises nothing, and what they say can be shown in every way."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.logs import batch, catalog, framed, keyed, record

from kwire_cli.analysis.state.changes import changed, changes_answer
from kwire_cli.analysis.state.tables import state_answer
from kwire_cli.analysis.state.topics import STATES, Log
from kwire_cli.message.redaction import RecordRedaction
from kwire_cli.source.log_inputs import LogFile
from kwire_cli.view.answers import answer_json
from kwire_cli.view.terminal import answer_text

FRAMES = [
    framed("TopicRecord", {"name": "t", "topicId": "AAAAAAAAAAAAAAAAAAAABQ"})[1],
    framed("ConfigRecord", {"resourceType": 2, "resourceName": "t", "name": "a", "value": "b"})[1],
    framed(
        "ClientQuotaRecord",
        {"entity": [{"entityType": "user", "entityName": None}], "key": "k", "value": 1.0, "remove": False},
    )[1],
    framed("RemoveTopicRecord", {"topicId": "AAAAAAAAAAAAAAAAAAAABQ"})[1],
]
KEYS = [
    keyed(1, "OffsetCommit", {"group": "g", "topic": "t", "partition": 0}, None)[0],
    keyed(3, "ConsumerGroupMetadata", {"groupId": "g"}, None)[0],
]


def small(most):
    return st.integers(0, most).map(lambda number: number.to_bytes(2, "big"))


mangled = st.tuples(st.sampled_from([*FRAMES, *KEYS]), st.integers(0, 60), st.integers(0, 255)).map(
    lambda made: bytes(made[2] if i == made[1] else byte for i, byte in enumerate(made[0]))
)
keys = st.none() | st.tuples(small(25), st.binary(max_size=24)).map(b"".join) | mangled
values = (
    st.none()
    | st.binary(max_size=60)
    | st.tuples(small(4), st.binary(max_size=80)).map(b"".join)
    | st.tuples(st.integers(0, 30), st.integers(0, 3), st.binary(max_size=80)).map(
        lambda made: bytes([1, *made[:2]]) + made[2]
    )
    | mangled
)
records = st.lists(st.tuples(keys, values, st.integers(-1, 2), st.booleans()), max_size=12)


@pytest.mark.parametrize("topic", [*STATES])
@examples(20)
@given(given=records, at=st.integers(0, 9))
def test_any_records_can_be_folded_and_shown(topic, given, at):
    data = b"".join(
        batch(
            offset,
            [record(*payload)],
            producerId=producer,
            attributes=(16 if producer >= 0 else 0) | (32 if control else 0),
        )
        for offset, (*payload, producer, control) in enumerate(given)
    )
    log = Log(catalog(), topic, 0, [LogFile.of(memoryview(data))])
    for hide in (None, RecordRedaction(catalog())):
        parts = [log.folded(), replace(log, partition=1).folded()]
        changes = [changed(log, (at, None))]
        for answer in (
            state_answer(parts, hide=hide),
            changes_answer(changes, "", hide=hide),
        ):
            assert [*answer_json(answer)]
            assert answer_text(answer)
            assert answer_text(answer, 80)
