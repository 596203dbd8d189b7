"""Names that no field has are refused, and none that one has."""

import json

import pytest
from command_line import kwire

from kwire_cli.cli.captures import filter_of
from kwire_cli.filter import FilterError
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.changing import fields_by_path
from kwire_cli.spec.field_names import FieldNames

CAPTURE = "samples/captures/ipv6.pcap"


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ('clinet == "x"', 1, "no column and no field is called clinet; did you mean client or clientId or clientTags?"),
        ("api == Fetch and has errorcode", 22, "no column and no field is called errorcode; did you mean errorCode or error or partitionErrorCode?"),
        ("body.erorCode == 0", 1, "no field is called erorCode; did you mean errorCode or partitionErrorCode?"),
        ("bdy.errorCode", 1, "no field is called bdy; did you mean body?"),
        ("topics.partitons.errorCode != 0", 1, "no field is called partitons; did you mean partitions or partition or partitionIds?"),
        (".frame == 1", 1, "no field is called frame; did you mean name?"),
        ("qqqqqqqq", 1, "no column and no field is called qqqqqqqq"),
    ],
)
def test_a_name_of_nothing_is_refused(text, column, reason):
    with pytest.raises(FilterError) as error:
        filter_of(catalog(), text)
    assert (error.value.column, error.value.reason) == (column, reason)


def test_every_field_of_every_definition_can_be_named():
    names = FieldNames(catalog())
    for entry in catalog():
        for path, _ in fields_by_path(catalog().message(entry.name)):
            assert all(part.removesuffix("[]") in names for part in path.split("."))
    for text in ("has body", ".host == x", "header.clientId == x", "unknownTaggedFields.tag == 7", "has topics.partitions.unknownTaggedFields"):
        filter_of(catalog(), text)


def test_no_definition_is_read_for_columns_and_few_for_what_is_found(monkeypatch):
    read = []
    own = catalog(kafka="3.9")
    monkeypatch.setattr(own, "message", lambda name, message=own.message: read.append(name) or message(name))
    filter_of(own, "client == x and latency > 1ms and kind == response")
    assert not read
    filter_of(own, "errorCode != 0")
    assert len(read) < 10


def test_fields_of_own_definitions_and_overlays_can_be_named(tmp_path):
    fields = [{"name": "Wombats", "type": "int32", "versions": "0+"}]
    definition = {"apiKey": 900, "type": "request", "name": "ZooRequest", "validVersions": "0", "flexibleVersions": "none", "fields": fields}
    (tmp_path / "ZooRequest.json").write_text(json.dumps(definition))
    filter_of(catalog([str(tmp_path)]), "wombats == 3")
    with pytest.raises(FilterError):
        filter_of(catalog(), "wombats == 3")
    asked = ("decode", "--filter", "wombats == 3", CAPTURE)
    assert kwire(*asked).code == 2
    assert kwire(*asked, "--specs", tmp_path).code == 0


def test_batches_have_fields_of_their_own():
    filter_of(catalog(), "has whatever", of_messages=False)


@pytest.mark.parametrize("options", [("decode",), ("decode", "--stats"), ("overhead",), ("watch",)])
def test_every_command_refuses_it(options):
    done = kwire(*options, "--filter", 'clinet == "x"', CAPTURE)
    assert (done.code, done.err.startswith("kwire: filter, column 1: no column and no field is called clinet; did you mean client")) == (2, True)


def test_columns_that_are_asked_for_have_to_be_there():
    done = kwire("decode", "--fields", "frame,tiem", CAPTURE)
    assert (done.code, done.raw) == (2, b"")
    assert done.err.endswith("kwire: --fields: no column and no field is called tiem; did you mean time or stream?\n")
    assert "a path has no indexes" in kwire("decode", "--fields", "topics[].name", CAPTURE).err
    assert "takes names" in kwire("decode", "--fields", "frame,", CAPTURE).err
    done = kwire("decode", "--fields", "frame,.clientId,header.clientId", "--format", "csv", "--filter", "frame == 1", CAPTURE)
    number, dotted, whole = done.out.splitlines()[1].split(",")
    assert number == "1"
    assert dotted == whole != ""
