"""What has a role in a body's JSON is what has it in the body's bytes."""

from kit.messages import sample

from kwire_cli import catalog
from kwire_cli.message.decoded import decode
from kwire_cli.message.roles import error_codes, role_values, roles, topics_in
from kwire_cli.source.request_log.exchange import Found, found_in, marks


def test_of_all_golden_messages_the_same_is_found_as_in_their_bytes():
    counts = [0, 0, 0]
    for row in sample():
        body = decode(row.catalog, row.body, row.message, row.version)
        values = role_values(roles(body.spec, body.entry), body.raw)
        names, ids = topics_in(values)
        found = found_in(marks(body.spec), body.to_json(records="size"))
        assert sorted(found.topics) == sorted(names), row
        assert sorted(found.topic_ids) == sorted(ids), row
        assert {*found.errors} == {*error_codes(values)}, row
        for at, some in enumerate((names, ids, found.errors)):
            counts[at] += bool(some)
    assert min(counts) > 10


def test_what_is_not_as_its_definition_says_is_passed_over():
    marked = marks(catalog().message("MetadataResponse"))
    odd = [[{"errorCode": 3, "name": ["a", "", 3], "topicId": 5}]]
    body = {"errorCode": True, "topics": [None, odd, {"partitions": {"errorCode": 4.5}}, "x"]}
    assert found_in(marked, body, [], "x") == Found(topics=["a"], errors=[3])
