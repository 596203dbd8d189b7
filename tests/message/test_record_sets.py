import base64

from kit.traffic import body_of

import kwire_cli as kwire
from kwire_cli.message.decoded import RecordSet, record_sets
from kwire_cli.message.roles import roles

RECORDS = kwire.write_records([{"records": [{"value": {"text": "v"}}]}])
TEXT = base64.b64encode(RECORDS).decode()


def found(message, version, **value):
    data = kwire.encode(body_of(message, version, value), message=message, version=version)
    decoded = kwire.decode(data, message=message, version=version)
    return data, [*record_sets(roles(decoded.spec, decoded.entry), decoded.raw)]


def produce(version, **topic):
    partitions = [{"index": 7, "records": TEXT}, {"index": 8, "records": None}]
    return found("ProduceRequest", version, topicData=[topic | {"partitionData": partitions}] * 2)


def test_the_records_of_each_partition_of_a_produce_request():
    data, sets = produce(9, name="orders")
    assert [(each.topic, each.partition, data[each.start : each.stop]) for each in sets] == [("orders", 7, RECORDS)] * 2


def test_a_topic_may_be_an_id():
    _, sets = produce(13, topicId="Wg6nBlB7TIOaMoA5IIT1cA")
    assert {(each.topic, each.partition) for each in sets} == {("Wg6nBlB7TIOaMoA5IIT1cA", 7)}


def test_the_records_of_a_fetch_response():
    topic = {"topic": "t", "partitions": [{"partitionIndex": 3, "records": TEXT}]}
    data, [each] = found("FetchResponse", 4, responses=[topic])
    assert each == RecordSet("t", 3, data.index(RECORDS), data.index(RECORDS) + len(RECORDS))


def test_other_messages_have_none():
    assert found("ApiVersionsRequest", 0)[1] == []
