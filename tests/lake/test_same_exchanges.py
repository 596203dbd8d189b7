"""A capture and the broker's log of the same exchanges, given together: nothing is counted twice."""

import json
import shutil

import pytest
from kit.commands import ROOT, kwire
from kit.logs import line

CAPTURES = ROOT / "samples" / "captures"
LOG = ROOT / "samples" / "request-logs" / "kafka-request.log"


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A capture, and the log that its broker would have written: the same clients, requests and responses."""
    folder = tmp_path_factory.mktemp("both")
    capture, log = folder / "one.pcapng", folder / "kafka-request.log"
    shutil.copy(CAPTURES / "kafka-python-4.4.0.pcapng", capture)
    lines = [
        json.loads(text) for text in kwire("decode", capture, "--format", "jsonl", "--records", "size").out.splitlines()
    ]
    asked = {each["frame"]: each for each in lines if each["kind"] == "request"}
    written = []
    for each in lines:
        if each["kind"] != "response":
            continue
        request = asked[each["requestFrame"]]
        own = line(
            request["apiKey"], request["apiVersion"], client=request["header"]["clientId"],
            correlation=request["header"]["correlationId"],
            request=request["body"], response=each["body"], connection=f"{request['dst']}-{request['src']}-0-1",
            clientInformation=None,
            time=each["time"].replace("T", " ").replace("Z", ""),
        )  # fmt: skip
        written.append(own)
    log.write_bytes(b"".join(written))
    assert len(written) > 20
    return capture, log


def clients(*inputs):
    done = kwire("clients", "--format", "json", *inputs)
    assert done.code == 0, done.err
    return done, {
        (row["clientId"], row["apiKey"], row["apiVersion"], *row["brokers"]): (row["requests"], row["errors"])
        for row in json.loads(done.out)["tables"]["versions"]
    }


def test_clients_count_an_exchange_once(both):
    capture, log = both
    _, of_capture = clients(capture)
    _, of_log = clients(log)
    assert of_log
    for inputs in ((capture, log), (log, capture)):
        done, found = clients(*inputs)
        assert {key: count for key, count in found.items() if key in of_capture} == of_capture
        assert found.keys() == of_capture.keys() | of_log.keys()
        assert str(log) in done.err
    alone, found = clients(log, log)
    assert not alone.err
    assert {key: count for key, (count, _) in found.items()} == {key: 2 * count for key, (count, _) in of_log.items()}


def test_other_brokers_are_added(both):
    _, found = clients(both[0], LOG)
    expected = clients(both[0])[1] | clients(LOG)[1]
    assert found == expected
