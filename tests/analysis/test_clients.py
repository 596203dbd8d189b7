import pickle
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from kit.logs import UNKNOWN, document, offers

import kwire_cli
from kwire_cli.analysis.clients import Client, Clients, report
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.source.request_log.reading import RequestLog
from kwire_cli.spec.accepted import Accepted, accepted_by
from kwire_cli.spec.model import Versions
from kwire_cli.view.answers import answer_document
from kwire_cli.view.terminal import answer_text

CATALOG = kwire_cli.catalog()
OWN = Path(__file__).parents[3] / "shared" / "real" / "own" / "captures"
PRODUCE, FETCH, METADATA, CONTROLLED_SHUTDOWN, API_VERSIONS = 0, 1, 3, 7, 18
R44 = accepted_by("4.4")


def logged(*documents):
    clients, reader = Clients(), Reader(CATALOG)
    for number, each in enumerate(documents):
        clients.add(reader.exchange(each, number, f"2026-11-21T10:00:{number:02}.000000"))
    return clients


def ask(version=0, response=None, **options):
    return document(
        API_VERSIONS, version, told=UNKNOWN, response=offers(k0=9, k1=3) if response is None else response, **options
    )


def answered(clients):
    return answer_document(clients.answer())["tables"]


def verdicts(clients, release="4.4", now=None):
    rows = report(clients, accepted_by(release) if isinstance(release, str) else release, now and accepted_by(now))
    return {(version.api_key, version.version): version.verdict for row in rows for version in row.versions}


def test_a_client_is_its_id_software_and_address():
    clients = logged(
        document(),
        document(client="d"),
        document(told=UNKNOWN),
        document(connection="10.0.0.2:9092-10.0.0.9:1-0"),
        document(),
    )
    rows = report(clients)
    assert [(row.client, row.total.requests) for row in rows] == [
        (Client("c", "apache-kafka-java 3.7.2", "10.0.0.1"), 2),
        (Client("c", "apache-kafka-java 3.7.2", "10.0.0.9"), 1),
        (Client("c", None, "10.0.0.1"), 1),
        (Client("d", "apache-kafka-java 3.7.2", "10.0.0.1"), 1),
    ]
    first = answered(clients)["clients"][0]
    assert (first["first"], first["last"]) == ("2026-11-21T10:00:00.000000", "2026-11-21T10:00:04.000000")
    assert "verdict" not in first
    assert first["apis"] == ["Metadata 12"]


def test_how_a_connection_begins_is_counted_where_the_software_was_told():
    """The request log knows the software only once an ApiVersions request was answered."""
    [row] = report(logged(ask(0), ask(4), document()))
    assert (row.client.software, [version.name for version in row.versions]) == (
        "apache-kafka-java 3.7.2",
        ["Metadata 12", "ApiVersions 0", "ApiVersions 4"],
    )
    two = report(logged(ask(0), document(), document(told={"softwareName": "sarama", "softwareVersion": "1"})))
    assert [row.client.software for row in two] == ["apache-kafka-java 3.7.2", "sarama 1", None]


def test_errors_and_brokers_are_kept_by_version():
    lost = {"topics": [{"errorCode": 3}, {"errorCode": 3}]}
    [row] = report(logged(document(response=lost), document(response=lost, broker=9093), document(version=9)))
    assert [(version.version, dict(version.use.errors), version.brokers) for version in row.versions] == [
        (9, {}, ("10.0.0.2:9092",)),
        (12, {"UNKNOWN_TOPIC_OR_PARTITION": 2}, ("10.0.0.2:9092", "10.0.0.2:9093")),
    ]


def test_a_request_log_says_whom_the_broker_took_a_client_for(wire):
    several = logged(document(principal="User:b"), document(principal="User:a", version=9), document(principal=None))
    assert answered(several)["clients"][0]["principals"] == ["User:a", "User:b"]
    clients = Clients()
    for line in wire.lines((0, wire.request("Metadata", 1, 1, topics=[]))):
        clients.add(line)
    assert answered(clients)["clients"][0]["principals"] == []


def test_what_other_brokers_passed_on_is_no_client_of_theirs():
    clients = logged(document(forwarded=True), document())
    assert (clients.forwarded, len(report(clients))) == (1, 1)


def test_an_upgrade_shows_whom_it_hurts_and_programs_get_all():
    clients = logged(ask(), document(PRODUCE, 2), document(client="fine"))
    clients.upgrade_to = "4.4"
    answer = clients.answer()
    assert answer.found
    document_of = answer_document(answer)
    assert document_of["facts"] == {"upgradeTo": "4.4", "clients": 2, "verdicts": {"refused": 1, "accepted": 1}}
    assert [row["verdict"] for row in document_of["tables"]["versions"]] == ["refused", "accepted", "accepted"]
    text = answer_text(answer)
    assert "so the client knows no higher" in text
    assert "fine" not in text
    clients.upgrade_to = "3.9"
    assert not clients.answer().found


def test_a_version_below_what_was_offered_is_all_that_the_client_knows():
    found = verdicts(logged(ask(), document(PRODUCE, 2)))
    assert found[PRODUCE, 2].verdict == "refused"
    assert (
        found[PRODUCE, 2].reason
        == "4.4 accepts 3-13; the broker offered 9, so the client knows no higher; it writes old messages (v0 or v1)"
    )
    assert found[API_VERSIONS, 0] == ("accepted", None)


def test_what_the_broker_offers_need_not_have_been_asked_by_the_same_client():
    assert verdicts(logged(ask(client="other"), document(PRODUCE, 2)))[PRODUCE, 2].verdict == "refused"
    assert verdicts(logged(ask(client="other", broker=9093), document(PRODUCE, 2)))[PRODUCE, 2].verdict == "unclear"


def test_a_version_that_the_broker_capped_is_not_refused():
    found = verdicts(logged(ask(), document(FETCH, 3)))
    assert found[FETCH, 3] == ("capped", "4.4 accepts 4-18; the broker offered no more than 3")
    upgraded = verdicts(logged(ask(), ask(response=offers(k1=11)), document(FETCH, 3), document(FETCH, 2)))
    assert (upgraded[FETCH, 3].verdict, upgraded[FETCH, 2].verdict) == ("capped", "refused")


def test_refused_by_one_broker_is_refused():
    clients = logged(
        ask(), ask(broker=9093, response=offers(k1=11)), document(FETCH, 3), document(FETCH, 3, broker=9093)
    )
    assert verdicts(clients)[FETCH, 3].verdict == "refused"


def test_without_evidence_it_is_unclear():
    assert verdicts(logged(document(FETCH, 3)))[FETCH, 3] == (
        "unclear",
        "4.4 accepts 4-18; what the broker offered was not seen",
    )
    assert verdicts(logged(ask(), document(FETCH, 3), document(FETCH, 2), document(FETCH, 4)))[
        FETCH, 2
    ].reason.endswith("; it speaks 4 too")
    assert verdicts(logged(ask(client="other"), document(FETCH, 3)))[FETCH, 3].reason.endswith(
        "whether the client asks for that was not seen"
    )


def test_what_brokers_are_now_can_be_said():
    found = verdicts(logged(document(FETCH, 3)), now="3.9")[FETCH, 3]
    assert found == ("refused", "4.4 accepts 4-18; 3.9 offers 17, so the client knows no higher")
    assert verdicts(logged(ask(), document(FETCH, 3)), now="3.9")[FETCH, 3].verdict == "capped"


def test_apis_that_are_gone_and_versions_that_are_older_or_newer():
    found = verdicts(logged(ask(9), document(CONTROLLED_SHUTDOWN, 3), document(PRODUCE, 30), document(9999, 0)))
    assert found[CONTROLLED_SHUTDOWN, 3] == found[9999, 0] == ("refused", "4.4 has no such api")
    assert found[PRODUCE, 30] == (
        "unclear",
        "4.4 accepts 3-13; it asks which versions a broker speaks, and may know a lower one",
    )
    assert found[API_VERSIONS, 9].verdict == "accepted"
    assert verdicts(logged(document(PRODUCE, 30)))[PRODUCE, 30].reason.endswith(
        "whether it knows a lower one was not seen"
    )


def test_deprecated_versions_are_told_with_the_release_that_refuses_them():
    found = verdicts(logged(document(PRODUCE, 2), document(PRODUCE, 3), document(METADATA, 3)), "3.9")
    assert found[PRODUCE, 2] == ("deprecated", "4.0 refuses it; it writes old messages (v0 or v1)")
    assert found[PRODUCE, 3].verdict == "accepted"
    assert (
        verdicts(logged(document(METADATA, 3)), "3.7")[METADATA, 3].reason
        == "3.7 calls it deprecated, and no release so far refuses it"
    )
    newest = Accepted("4.4", {1: Versions(0, 5)}, {1: Versions(0, 2)})
    assert verdicts(logged(document(FETCH, 1)), newest)[FETCH, 1].verdict == "deprecated"


def test_a_client_who_never_asks_shows_in_a_capture_from_its_beginning(wire):
    fetch = [(0, wire.request("Fetch", 3, 1, "old", maxWaitMs=1)), (1, wire.response("Fetch", 3, 1))]
    for opened, verdict in ((True, "refused"), (False, "unclear")):
        clients = Clients()
        for line in wire.lines(*fetch, port=9092, opened=opened):
            clients.add(line)
        assert verdicts(clients)[FETCH, 3].verdict == verdict


def test_old_messages_in_a_capture_are_counted_by_format():
    clients = Clients()
    for line in traffic(CATALOG, Capture(Path(__file__).parents[2] / "samples/captures/sarama-0.8.2.0-3.9.2.pcapng")):
        clients.add(line)
    found = verdicts(clients)[PRODUCE, 0]
    assert (
        found.reason
        == "4.4 accepts 3-13; the broker offered 11, so the client knows no higher; it writes old messages (4 in v0)"
    )
    assert answered(clients)["versions"][0]["messageFormats"] == {"0": 4}


def test_answers_that_are_no_lists_of_apis_teach_nothing():
    odd = [
        {"apiKeys": None},
        {"apiKeys": [None, {}, {"apiKey": "0", "maxVersion": 3}, {"apiKey": 0, "maxVersion": None}]},
    ]
    assert logged(*(ask(response=each) for each in odd)).offered == {}


DOCUMENTS = (
    ask(),
    ask(response=offers(k1=11), broker=9093),
    document(FETCH, 3),
    document(FETCH, 3, broker=9093),
    document(PRODUCE, 2, client="d", told=UNKNOWN),
    document(response={"topics": [{"errorCode": 3}]}, forwarded=True),
    document(response={"topics": [{"errorCode": 3}]}),
)


@given(st.permutations(range(len(DOCUMENTS))), st.lists(st.integers(0, len(DOCUMENTS)), min_size=2, max_size=2))
def test_parts_add_up_in_any_order(order, cuts):
    parts = [order[low:high] for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), len(order)], strict=True)]
    reader, merged = Reader(CATALOG), Clients()
    for part in parts:
        clients = Clients()
        for at in part:
            clients.add(reader.exchange(DOCUMENTS[at], at, f"2026-11-21T10:00:{at:02}.000000"))
        merged.merge(pickle.loads(pickle.dumps(clients)))  # as they come from other processes
    expected = logged(*DOCUMENTS)
    expected.upgrade_to = merged.upgrade_to = "4.4"
    assert answer_document(merged.answer()) == answer_document(expected.answer())
    assert merged.forwarded == 1


@pytest.mark.shared
@pytest.mark.parametrize("name", ["java44-produce-consume", "java44-admin", "old39-sarama-0.11.0.0", "zk28-ibp-2.4"])
def test_a_log_and_a_capture_of_the_same_traffic_have_the_same_clients(name):
    of_log, of_capture = Clients(), Clients()
    for exchange in RequestLog(OWN / name / "broker-request-log.jsonl.gz", CATALOG):
        of_log.add(exchange)
    for line in traffic(CATALOG, Capture(OWN / name / "capture.pcapng")):
        of_capture.add(line)
    of_both = [answered(clients) for clients in (of_log, of_capture)]
    for tables in of_both:
        for row in (*tables["clients"], *tables["versions"]):
            del row["first"], row["last"], row["principals"]
    assert of_both[0] == of_both[1]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("mismatch44-java-0.10.2.2", {"old-producer-none": {"Produce 2"}}),
        (
            "old39-kafka-python-1.4.7-api0.9",
            {"kp-producer": {"Produce 1"}, "kp-consumer": {"Fetch 1", "ListOffsets 0"}},
        ),
        ("old39-java-2.4.1", {}),
        ("old39-sarama-0.11.0.0", {}),
    ],
)
def test_real_clients_are_refused_for_what_brokers_closed_the_connection_on(name, refused):
    clients = Clients()
    for line in traffic(CATALOG, Capture(OWN / name / "capture.pcapng")):
        clients.add(line)
    rows = report(clients, R44)
    found = {
        row.client.client_id: {each.name for each in row.versions if each.verdict.verdict != "accepted"} for row in rows
    }
    assert {client: names for client, names in found.items() if names} == refused
