"""kwire diff of captures and request logs: what is compared, exit codes, and options that go with it."""

import shutil

from kit.captures import SAMPLES, spoken_capture
from kit.commands import ROOT, json_of, kwire, refusal_of
from kit.traffic import Wire

A, B = SAMPLES / "incidents" / "rebalancing.pcap", SAMPLES / "incidents" / "slow-fetch.pcap"
LOG = SAMPLES / "request-logs" / "kafka-request.log"


def test_exit_code():
    """Without --exit-code it is 0 for the same two inputs: test_a_capture_and_a_log."""
    assert kwire("diff", B, LOG, "--exit-code").code == 1
    done = kwire("diff", B, B, "--exit-code", "-f", "table")
    assert done.code == 0
    assert done.out.endswith("the same clients, apis, versions, set fields and configuration\n")
    assert kwire("diff", LOG, LOG, "--exit-code").code == 0


def test_tables_of_the_page():
    document = json_of("diff", A, B)
    page = (ROOT / "docs" / "diff.md").read_text("utf-8").partition("## Two captures")[2].partition("\n## ")[0]
    assert [f"| `{name}` |" in page for name in document["tables"]] == [True] * 6


def test_by_client():
    document = json_of("diff", A, B, "--by", "client")
    assert {row["client"] for row in document["tables"]["apis"]} == {"setup", "shop"}
    assert {row["client"] for row in document["tables"]["sides"]} == {
        *("setup", "shop", "worker-1", "worker-2", "dashboard", "warehouse"),
    }


def test_a_capture_and_a_log():
    assert kwire("diff", B, LOG).code == 0


def test_captures_of_a_frame_each_are_messages(tmp_path):
    for name, client in (("a", "x"), ("b", "y")):
        (tmp_path / f"{name}.pcap").write_bytes(spoken_capture((0, Wire.request("Metadata", 4, client=client))))
    done = kwire("diff", tmp_path / "a.pcap", tmp_path / "b.pcap")
    assert '- header.clientId: "x"' in done.out


def test_nothing_but_requests_of_brokers_is_an_error(tmp_path):
    broker = tmp_path / "broker.pcap"
    request = Wire.request("Metadata", 4, client="broker-1-fetcher-0")
    broker.write_bytes(spoken_capture((0, request), (0, request)))
    assert refusal_of("diff", A, broker) == f"kwire: {broker}: only brokers and controllers send requests in it\n"


def test_what_does_not_fit_is_an_error(tmp_path):
    assert "--by is for two captures" in kwire("diff", "FetchRequest", "12", "13", "--by", "client").err
    shutil.copy(SAMPLES / "incidents" / "plain-to-tls.pcap", tmp_path / "tls.pcap")
    empty = tmp_path / "empty.pcap"
    empty.write_bytes((tmp_path / "tls.pcap").read_bytes()[:24])
    assert refusal_of("diff", A, empty) == f"kwire: {empty}: no packets: this capture is empty\n"
