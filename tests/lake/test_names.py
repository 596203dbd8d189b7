"""What the connections of a capture point tell is the same in whatever order tasks put it together."""

from copy import deepcopy
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from kwire_cli.facts.columnar.names import Learnt
from kwire_cli.source.kafka.captured import Names

FIRST, SECOND, OTHER = "BZCY1TCeR6my6hOPqmcf1Q", "7s7Nc4uqQxKGXA18OWgYBw", "E3sNHu7UTh2xmYbCAhtM1Q"


def told(since, topics, clients):
    return Learnt(Names(dict(topics)), dict(clients), dict.fromkeys((*topics, *clients), since))


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_the_order_of_merging_changes_nothing(order):
    connections = [
        told(3, {FIRST: "sweep", SECOND: "orders"}, {"billing": "librdkafka 2.3"}),
        told(70, {FIRST: "sweep-again"}, {"billing": "librdkafka 2.4", "shop": "sarama 1.4"}),
        told(9, {OTHER: "payments"}, {"billing": "franz-go 1.2"}),
    ]
    whole = Learnt(Names({}))
    for number in order:
        whole.merge(connections[number])
    assert whole.names.topics == {FIRST: "sweep", SECOND: "orders", OTHER: "payments"}
    assert whole.clients == {"billing": "librdkafka 2.4", "shop": "sarama 1.4"}


NODES = st.dictionaries(st.sampled_from(["a:1", "b:2", "c:3"]), st.none() | st.integers(0, 2))


def merged(one, other):
    whole = deepcopy(one)
    whole.merge(other)
    return whole


@given(*[NODES.map(lambda brokers: Learnt(Names(brokers=brokers)))] * 3)
def test_an_address_with_two_node_ids_has_none_in_any_order(one, other, third):
    assert merged(one, other).names.brokers == merged(other, one).names.brokers
    left, right = merged(merged(one, other), third), merged(one, merged(other, third))
    assert left.names.brokers == right.names.brokers
    for address, node in left.names.brokers.items():
        said = {each.names.brokers[address] for each in (one, other, third) if address in each.names.brokers}
        assert node == (said.pop() if len(said) == 1 else None)
