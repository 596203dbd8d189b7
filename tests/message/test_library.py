"""`kwire.columns`: bodies of one message as Arrow columns, in whole and damaged, and what it refuses."""

import sys

import pytest
from kit.messages import body_of

import kwire_cli as kwire

REQUEST = {"groupId": "orders", "generationId": 7, "memberId": "m", "groupInstanceId": None}


@pytest.fixture
def arrow():
    return pytest.importorskip("pyarrow")


def test_each_body_is_a_struct_and_null_if_it_is_cut(arrow):
    body = kwire.encode(REQUEST, message="HeartbeatRequest", version=4)
    made = kwire.columns([body, memoryview(body)[:5], b"", bytearray(body)], message="heartbeatrequest", version=4)
    assert isinstance(made, arrow.StructArray)
    assert made.to_pylist() == [REQUEST, None, None, REQUEST]
    assert kwire.columns([], message="HeartbeatRequest", version=4).to_pylist() == []
    assert kwire.columns([b"\1"], message="HeartbeatRequest", version=4).to_pylist() == [None]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize(
    ("bodies", "message", "version"),
    [([b""], "NoSuchRequest", 0), ([b""], "HeartbeatRequest", 99), (["text"], "HeartbeatRequest", 4)],
)
def test_what_it_refuses(bodies, message, version):
    with pytest.raises(kwire.InputError):
        kwire.columns(bodies, message=message, version=version)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(kwire.InputError, match=r"pip install 'kwire\[lake\]'"):
        kwire.columns([b""], message="HeartbeatRequest", version=4)


@pytest.mark.usefixtures("arrow")
def test_a_body_in_an_early_layout_is_null():
    newest = kwire.encode({"throttleTimeMs": 0, "groups": []}, message="ConsumerGroupDescribeResponse", version=0)
    bodies = [newest, body_of("ConsumerGroupDescribeResponse"), newest]
    found = kwire.columns(bodies, message="ConsumerGroupDescribeResponse", version=0)
    assert found.to_pylist() == [{"throttleTimeMs": 0, "groups": []}, None, {"throttleTimeMs": 0, "groups": []}]
