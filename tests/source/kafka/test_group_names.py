"""The groups and transactional ids that requests name."""

import pytest
from kit.captures import CHOSEN

import kwire_cli
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.captured import body_of
from kwire_cli.source.kafka.group_names import groups_named, groups_of, transactions_named
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.spec.kafka import DELETE_GROUPS, DESCRIBE_GROUPS, FIND_COORDINATOR, OFFSET_FETCH


@pytest.mark.parametrize("body", [{}, {"groupId": 7, "groupIds": "x", "groups": [1, {"groupId": None}, []]}])
@pytest.mark.parametrize("api_key", [None, OFFSET_FETCH, DESCRIBE_GROUPS, DELETE_GROUPS, FIND_COORDINATOR])
def test_bodies_of_other_types_name_no_group(api_key, body):
    assert groups_named(api_key, body) == []


def test_groups_stand_in_several_places():
    assert groups_named(OFFSET_FETCH, {"groups": [{"groupId": "a"}, {"groupId": "b"}]}) == ["a", "b"]
    assert groups_named(DESCRIBE_GROUPS, {"groups": ["a", "a"]}) == ["a"]
    assert groups_named(DELETE_GROUPS, {"groupsNames": ["a"]}) == ["a"]
    assert groups_named(FIND_COORDINATOR, {"key": "", "keyType": 0, "coordinatorKeys": ["a"]}) == ["a"]
    assert groups_named(FIND_COORDINATOR, {"key": "transaction", "keyType": 1}) == []


def test_transactional_ids_stand_in_several_places():
    assert transactions_named(0, {"transactionalId": "t"}) == ["t"]
    assert transactions_named(24, {"transactions": [{"transactionalId": "t"}, {}]}) == ["t"]
    assert transactions_named(65, {"transactionalIds": ["t", "u"]}) == ["t", "u"]
    assert transactions_named(FIND_COORDINATOR, {"key": "t", "keyType": 1}) == ["t"]
    assert transactions_named(FIND_COORDINATOR, {"key": "group"}) == []


@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.stem)
def test_a_line_has_the_groups_of_its_request(path):
    """Most are read as one field, without the rest of the body."""
    capture = Capture(str(path))
    for line in traffic(kwire_cli.catalog(), capture, waiting_since=capture.streams.waiting_since):
        request = line.request if line.kind == "response" else line
        assert groups_of(line) == (groups_named(request.api_key, body_of(request)) if request else [])
