"""Two messages for eyes: signs, places, fields that one version lacks, and what is kept short."""

from kit.traffic import body_of

import kwire_cli as kwire
from kwire_cli.analysis.comparison.messages import Operand, compare
from kwire_cli.message.decoded import decode
from kwire_cli.view.differences import comparison_items

CATALOG = kwire.catalog()


def metadata(version, **value):
    data = kwire.encode(
        body_of("MetadataResponse", version, {"clusterId": "c"} | value), message="MetadataResponse", version=version
    )
    return decode(CATALOG, data, "MetadataResponse", version)


def body(*ids, version=12, host="h"):
    brokers = [{"nodeId": node, "host": f"{host}{node}", "port": 9092, "rack": None} for node in ids]
    return metadata(version, brokers=brokers, controllerId=1)


def lines(a, b, **options):
    return [item.text.rstrip() for item in comparison_items(CATALOG, compare(Operand(a), Operand(b)), **options)]


def test_no_difference():
    assert lines(body(1), body(1)) == ["no difference"]


def test_a_line_for_each_side_with_its_place():
    assert lines(body(1), body(1, host="other")) == [
        '- brokers[nodeId=1].host: "h1"  (3 bytes at 9)',
        '+ brokers[nodeId=1].host: "other1"  (7 bytes at 9)',
        "1 changed",
    ]


def test_elements_that_are_elsewhere_or_nowhere():
    assert lines(body(1, 2, 3), body(3, 1)) == [
        '- brokers[nodeId=2]: {"nodeId":2,"host":"h2","port":9092,"rack":null}  (13 bytes at 18)',
        "~ brokers[nodeId=3]: moved from [2] to [0]",
        "1 removed, 1 moved",
    ]


def test_fields_of_one_version_are_one_line_each():
    found = lines(body(1, version=7), body(1, version=8))
    assert found[:2] == [
        "fields of one version alone",
        (
            "+ clusterAuthorizedOperations: -2147483648 AUTHORIZED_OPERATIONS_OMITTED  4 bytes  version 7 has "
            "no such field"
        ),
    ]
    assert found[-1] == "1 added"
    back = lines(body(1, 2, version=1), body(1, 2, version=0))
    assert "- brokers[].rack: null  2 times, 4 bytes  version 0 has no such field" in back
    assert "- controllerId: 1  4 bytes  version 0 has no such field" in back


def test_several_values_of_such_a_field():
    def topics(version, *operations):
        rows = [{"name": f"t{n}", "topicAuthorizedOperations": each} for n, each in enumerate(operations)]
        return metadata(version, topics=rows if version >= 8 else [{"name": row["name"]} for row in rows])

    found = lines(topics(7, 1, 2), topics(8, 1, 2))
    assert (
        "+ topics[].topicAuthorizedOperations: several values  2 times, 8 bytes  version 7 has no such field" in found
    )


def test_long_values_are_cut_unless_all_is_asked_for():
    a, b = body(1), body(1, host="x" * 500)
    short, full = lines(a, b), lines(a, b, full=True)
    assert "more characters" in short[1]
    assert "x" * 500 in full[1]
