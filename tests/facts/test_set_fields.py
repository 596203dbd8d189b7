"""Fields that requests set to something other than their default."""

from kwire_cli.facts.set_fields import MOST_VISITS, fields_of, set_field_rows, set_fields, versions_with
from kwire_cli.spec.kafka import FETCH, PRODUCE


def test_fields_that_are_not_at_their_default():
    known = fields_of(FETCH)
    body = {
        "maxWaitMs": 0,
        "isolationLevel": 0,
        "rackId": "a",
        "topics": [{"topic": "t", "partitions": [{"partition": 0, "currentLeaderEpoch": -1, "logStartOffset": 3}]}],
    }
    paths = dict(set_fields(known, body))
    assert {*paths} == {
        "maxWaitMs",  # in all versions, without a default
        "rackId",
        "topics[].topic",
        "topics[].partitions[].partition",
        "topics[].partitions[].logStartOffset",
    }
    assert 12 not in versions_with(known, "topics[].topicId")
    assert 13 in versions_with(known, "topics[].topicId")
    assert versions_with(known, "topics[].nothing") is None


def test_a_request_has_one_row_for_a_path_and_no_text():
    partitions = [{"partition": 7}, {"partition": 8}]
    body = {"maxWaitMs": 5, "rackId": "secret", "topics": [{"topic": "t", "partitions": partitions}]}
    assert sorted(set_field_rows(FETCH, body)) == [
        ["maxWaitMs", "5"],
        ["rackId", None],
        ["topics[].partitions[].partition", "7"],
        ["topics[].topic", None],
    ]


def test_deep_and_wide_bodies_are_bounded():
    deep = {}
    for _ in range(100_000):
        deep = {"topics": [deep]}
    wide = {"topics": [{"topic": str(number), "partitions": [{"partition": 1}] * 1000} for number in range(1000)]}
    for body in (deep, wide):
        assert len([*set_fields(fields_of(PRODUCE), body)]) <= MOST_VISITS
    while deep:  # else Python's own end of it is as deep
        deep = deep["topics"][0]
