"""Topics that are deleted while clients use them."""

from kit.calls import MadeCall, fetch, found


def metadata(at, *, error=0, who="shop", cluster="c1", topic_id="T"):
    topic = {"name": "orders", "topicId": topic_id, "errorCode": error, "partitions": []}
    errors = ["UNKNOWN_TOPIC_OR_PARTITION"] if error else []
    body = {"clusterId": cluster, "topics": [topic], "brokers": []}
    return MadeCall("Metadata", {}, body, at=at, who=who, errors=errors)


def deletion(at, who):
    call = MadeCall("DeleteTopics", {}, {}, at=at, who=who)
    call.topics = ["orders"]
    return call


def test_who_deleted_it():
    calls = [metadata(0), deletion(1, "cleanup"), metadata(2, error=3)]
    ((_, _, text, frames),) = found("TOPIC_DELETED", calls)
    assert "deleted by client cleanup; shop asked for it in vain 1 time" in text
    assert frames == [4, 6]
    assert found("TOPIC_DELETED", [metadata(0), deletion(1, "shop"), metadata(2, error=3)]) == []


def test_a_topic_that_is_not_there_yet_or_again_or_in_another_cluster():
    unknown = [metadata(at, error=3) for at in range(2, 6)]
    assert found("TOPIC_DELETED", unknown) == []
    assert found("TOPIC_DELETED", [metadata(0), *unknown, metadata(9)]) == []
    assert found("TOPIC_DELETED", [metadata(0, cluster="c2"), *unknown]) == []


def test_a_topic_that_is_created_again_with_the_same_name():
    calls = [metadata(0), fetch(1, 30, 30, who="shop"), metadata(5, topic_id="U")]
    ((severity, _, text, frames),) = found("TOPIC_DELETED", calls)
    assert (severity, text) == ("warning", "brokers named it, and 5.0 s later another topic with its name")
    assert frames == [6]
    ((_, _, text, _),) = found("TOPIC_DELETED", [*calls, fetch(6, 3, 3, who="shop"), fetch(7, 9, 9, who="new")])
    assert text.endswith("; shop went on at offset 3 of orders-0, not at its start")
    ((_, _, text, _),) = found("TOPIC_DELETED", [*calls, fetch(6, 0, 3, who="shop")])
    assert "went on" not in text
