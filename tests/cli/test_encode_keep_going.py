import json

import pytest
from command_line import kwire
from hypothesis import given, strategies as st

GOOD = '{"message":"HeartbeatRequest","version":0,"body":{"groupId":"g","generationId":1,"memberId":"m"}}'
BYTES = "0001670000000100016d"
REFUSED = {
    "a field of another type": GOOD.replace('"g"', "5"),
    "an unknown message": GOOD.replace("Heartbeat", "Heartbeet"),
    "an unknown version": GOOD.replace('"version":0', '"version":99'),
    "no document": "[1]",
    "a key twice": '{"a":1,"a":2}',
    "a cut document": GOOD[:20],
    "too many digits": '{"a":' + "9" * 5000 + "}",
    "nested too deeply": "[" * 100_000,
    "pretty printed, and cut": json.dumps(json.loads(GOOD), indent=2)[:60],
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_encode_goes_on_past_a_refused_document(refused, tmp_path):
    file = tmp_path / "documents.jsonl"
    file.write_text(f"{GOOD}\n{refused}\n{GOOD}\n")
    done = kwire("encode", "--keep-going", file)
    assert done.code == 2
    assert done.out.split() == [BYTES, BYTES]
    assert done.err.endswith("kwire: 1 document could not be encoded, 2 were\n")
    assert str(file) in done.err
    stopped = kwire("encode", file)
    assert (stopped.code, stopped.out.split()) == (2, [BYTES])


@given(st.lists(st.sampled_from([GOOD, *REFUSED.values()]), max_size=6))
def test_every_document_is_encoded_or_counted(documents):
    done = kwire("encode", "--keep-going", "-", stdin="\n".join([*documents, GOOD]).encode())
    good = documents.count(GOOD) + 1
    assert done.out.split() == [BYTES] * good
    refused = len(documents) + 1 - good
    assert done.code == (2 if refused else 0)
    said = (
        f"{refused} document{'s' if refused > 1 else ''} could not be encoded, {good} {'was' if good == 1 else 'were'}"
    )
    assert (said in done.err) == bool(refused)


def test_the_place_where_reading_goes_on_is_said():
    done = kwire("encode", "--keep-going", "-", stdin=f'{{"a":1,"a":2}}\njunk\n{GOOD}'.encode())
    assert "the key 'a' occurs twice in one object; going on at line 3" in done.err


def test_a_record_set_is_one_document():
    assert "--keep-going is for documents" in kwire("encode", "--as-records", "--keep-going", "[]").err
