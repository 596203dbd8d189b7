"""Topics that are deleted while clients use them."""

from kit.calls import MadeCall, found


def metadata(at, *, error=0, who="shop", cluster="c1"):
    topic = {"name": "orders", "topicId": "T", "errorCode": error, "partitions": []}
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
