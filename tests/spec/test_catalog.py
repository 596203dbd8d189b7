import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bad_definitions import message
from kit.commands import ROOT

from kwire_cli import read_frames
from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.files import read_bundled, specs_folder
from kwire_cli.spec.model import field_at
from kwire_cli.view.wireshark.dissector import dissector


@pytest.fixture(scope="module")
def bundled():
    return catalog()


def test_every_definition_is_there_and_is_what_its_entry_says(bundled):
    files = {path.name for path in Path(specs_folder()).glob("[A-Z]*.json")}
    assert len(bundled) == len(bundled.entries) == len(files)
    assert {entry.file for entry in bundled} == files
    for entry in bundled:
        spec = bundled.message(entry.name)
        assert (spec.name, spec.type, spec.api_key) == (entry.name, entry.type, entry.api_key)
        assert (spec.valid_versions, spec.flexible_versions) == (entry.valid_versions, entry.flexible_versions)


def test_the_page_says_how_many_there_are(bundled, updating):
    page = "docs/specs.md"
    versions = sum(1 for entry in bundled for _ in entry.valid_versions.each())
    text = (ROOT / page).read_text("utf-8")
    now = re.sub(
        r"\d+(?= message definitions)", str(len(bundled)), re.sub(r"\d+(?= message versions)", str(versions), text)
    )
    assert "message versions" in text
    if updating:
        (ROOT / page).write_text(now, "utf-8")
    else:
        assert now == text


def test_one_catalogue_serves_all(bundled):
    assert catalog() is bundled
    assert bundled["metadataresponse"] is bundled.message("MetadataResponse")


@pytest.mark.parametrize("text", [3, "3", "metadata", "Metadata", " METADATA ", "MetadataRequest", "metadataresponse"])
def test_an_api_by_any_of_its_names(bundled, text):
    api = bundled.api(text)
    assert (api.key, api.name, api.request, api.response) == (3, "Metadata", "MetadataRequest", "MetadataResponse")


@pytest.mark.parametrize(
    ("old", "key", "name"),
    [
        ("ListOffset", 2, "ListOffsets"),
        ("ElectPreferredLeaders", 43, "ElectLeaders"),
        ("alterisr", 56, "AlterPartition"),
        ("ListClientMetricsResources", 74, "ListConfigResources"),
    ],
)
def test_old_names_are_aliases(bundled, old, key, name):
    api = bundled.api(old)
    assert (api.key, api.name) == (key, name)
    assert bundled.api_by_key(key) is api
    assert old.lower() in {alias.lower() for alias in api.aliases}


def test_old_names_of_messages(bundled):
    assert bundled.message("ListOffsetRequest").name == "ListOffsetsRequest"
    assert bundled.message("AlterIsrResponse").name == "AlterPartitionResponse"
    assert bundled.message("ZkMigrationRecord").name == "ZkMigrationStateRecord"
    assert bundled.message("ListClientMetricsResourcesRequest").name == "ListClientMetricsResourcesRequest"


def test_every_api_has_both_halves_and_one_key(bundled):
    assert {api.key for api in bundled.apis} == {entry.api_key for entry in bundled if entry.type == "request"}
    assert all(api.request and api.response for api in bundled.apis)
    assert [api.key for api in bundled.apis] == sorted({api.key for api in bundled.apis})


@pytest.mark.parametrize("text", ["metdata", 999, "", "-1", "9" * 5000, "\ud800"])
def test_what_is_unknown_is_refused(bundled, text):
    with pytest.raises(InputError):
        bundled.api(text)
    assert bundled.api_by_key(999) is None


def test_close_matches_are_offered(bundled):
    with pytest.raises(InputError, match="did you mean Metadata"):
        bundled.api("Metdata")
    with pytest.raises(InputError, match="FetchRequest"):
        bundled.message("FetchReqest")
    with pytest.raises(InputError, match="no message or api is called 'FetchReqest'; did you mean FetchRequest"):
        bundled["FetchReqest"]
    with pytest.raises(InputError, match="no message or api is called '999'"):
        bundled[999]


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (3, 8, 1, 0),
        (3, 9, 2, 1),
        (7, 0, 0, 0),
        (7, 1, 1, 0),
        (7, 3, 2, 1),
        (18, 0, 1, 0),
        (18, 3, 2, 0),
        (18, 99, 2, 0),
        (17, 1, 1, 0),
    ],
)
def test_header_versions(bundled, key, version, request_header, response_header):
    assert bundled.header_version("request", key, version) == request_header
    assert bundled.header_version("response", key, version) == response_header


def test_layouts_that_changed_under_one_number(bundled):
    old = catalog("3.9.2")
    assert bundled.early_releases("ShareGroupMetadataValue", 0) == ["4.0"]
    assert bundled.early_releases("ShareGroupPartitionMetadataValue", 0) == ["4.0", "3.9"]
    assert bundled.early_releases("ReadShareGroupStateSummaryResponse", 1) == []
    assert old.early_releases("ShareGroupMetadataValue", 0) == []
    assert catalog("4.4").early_releases("ShareGroupMetadataValue", 0) == []
    early = bundled.early_layout("ShareGroupMetadataValue", "4.0")
    assert field_at(bundled.message("ShareGroupMetadataValue"), "metadataHash")
    assert not field_at(early, "MetadataHash")
    assert old.message("ShareGroupMetadataValue") == early
    assert str(old.entry("ReadShareGroupStateSummaryResponse").valid_versions) == "0"


@pytest.mark.parametrize(
    ("kafka", "has_error", "has_assignors"),
    [("3.6", True, True), ("v3.7.1", True, False), ("3.8", False, False), ("4.4", False, False)],
)
def test_a_release_has_each_layout_up_to_the_last_release_that_had_it(kafka, has_error, has_assignors):
    chosen = catalog(kafka)
    describe = chosen.message("ConsumerGroupDescribeResponse")
    assert bool(field_at(describe, "Groups.Members.Assignment.Error")) == has_error
    heartbeat = chosen.message("ConsumerGroupHeartbeatRequest")
    assert bool(field_at(heartbeat, "ClientAssignors")) == has_assignors


def test_a_release_without_layouts_is_refused():
    with pytest.raises(InputError, match=r"choose one of 3\.6, 3\.7, 3\.8, 3\.9, 4\.0, 4\.1, 4\.2, 4\.3, 4\.4"):
        catalog("2.0")


@pytest.mark.parametrize(
    ("message_name", "path", "value", "name"),
    [
        ("MetadataResponse", "Topics.Partitions.ErrorCode", 5, "LEADER_NOT_AVAILABLE"),
        ("MetadataResponse", "topics.partitions.errorCode", 0, "NONE"),
        ("MetadataResponse", "Topics.ErrorCode", 12345, None),
        ("MetadataResponse", "Topics.TopicAuthorizedOperations", 0x18, "READ|WRITE"),
        ("MetadataResponse", "Topics.TopicAuthorizedOperations", 0x1000008, "READ|0x1000000"),
        ("MetadataResponse", "Topics.TopicAuthorizedOperations", -(2**31), "AUTHORIZED_OPERATIONS_OMITTED"),
        ("MetadataResponse", "Topics.TopicAuthorizedOperations", 0, None),
        ("FetchRequest", "IsolationLevel", 1, "READ_COMMITTED"),
        ("EndTxnRequest", "Committed", True, "COMMIT"),
        ("ListGroupsResponse", "Groups.GroupState", "Stable", None),
        ("MetadataResponse", "Brokers.NodeId", 1, None),
        ("MetadataResponse", "No.Such.ErrorCode", 1, None),
    ],
)
def test_named_values(bundled, message_name, path, value, name):
    assert bundled.named_value(message_name, path, value) == name


def test_the_fields_of_named_values_exist(bundled):
    for row in read_bundled("enums.json")["enums"].values():
        for path in (*row.get("fields", ()), *row.get("bitSetFields", ())):
            name, _, rest = path.partition(".")
            assert field_at(bundled.message(name), rest), path


def test_definitions_of_ones_own_are_added(bundled, tmp_path):
    foo = message(name="FooRequest", type="request", apiKey=9000, headerVersions={"0": "1", "1+": "3"}, colour="red")
    (tmp_path / "FooRequest.json").write_text(foo)
    mine = catalog([tmp_path])
    assert len(mine) == len(bundled) + 1
    assert mine.api("foo").key == 9000
    assert mine.api(9000).response is None
    assert [mine.header_version("request", 9000, version) for version in (0, 1)] == [1, 3]
    with pytest.raises(InputError, match="response of Foo"):
        mine.header_version("response", 9000, 0)


@pytest.mark.parametrize("halves", [("Request", "Response"), ("Request",), ("Response",)])
def test_a_reserved_api_is_there_by_name_and_reads_no_bytes(tmp_path, halves):
    """As Kafka 4 has LeaderAndIsr; a capture with such a request is read like one of an api that no definition has."""
    for half in halves:
        document = read_bundled(f"LeaderAndIsr{half}.json") | {"validVersions": "none"}
        (tmp_path / f"LeaderAndIsr{half}.json").write_text(json.dumps(document))
    reserved = catalog(tmp_path)
    assert reserved.api("LeaderAndIsr") == reserved.api(4)
    assert (reserved.named_api(4), reserved.api_by_key(4)) == (reserved.api(4), None)
    [frame, _] = read_frames(
        bytes.fromhex("0000000d00040000000000070003617070" + "0000000d00120000000000070003617070"), specs=tmp_path
    )
    assert (frame.api_key, frame.header.value["clientId"]) == (4, "app")
    assert [anomaly.code for anomaly in frame.anomalies] == ["UNKNOWN_API"]
    assert '[4] = {"LeaderAndIsr", ' in dissector(reserved)


def test_definitions_of_ones_own_replace(tmp_path):
    path = tmp_path / "anything.json"
    path.write_text(message(name="MetadataRequest", type="request", apiKey=9001))
    mine = catalog([str(path)])
    assert (mine.api("metadata").key, mine.api(9001).response) == (9001, None)
    assert mine.api(3).request is None
    assert mine.message("MetadataRequest").fields == ()
    path.write_text(message(name="OtherRequest", type="request", apiKey=3))
    assert catalog([path]).api(3).request == "OtherRequest"


def test_a_catalogue_goes_to_other_processes_without_its_files(bundled, tmp_path):
    file, laid = tmp_path / "FooRequest.json", tmp_path / "small.json"
    file.write_text(message(name="FooRequest", type="request", apiKey=9000), "utf-8")
    laid.write_text('{"messages": {"MetadataRequest": {"flexibleVersions": "5+"}}}', "utf-8")
    made = catalog([file, "3.9", laid])
    sent = pickle.dumps(made)
    file.unlink()
    laid.unlink()
    there = pickle.loads(sent)
    assert pickle.loads(sent) is there
    assert there is not made
    assert there.entries == made.entries
    assert there.message("FooRequest") == made.message("FooRequest")
    assert str(there.message("MetadataRequest").flexible_versions) == "5+"
    assert there.early_releases("ShareGroupMetadataValue", 0) == []
    assert pickle.loads(pickle.dumps(bundled)) is bundled
    older = catalog("3.9")
    assert pickle.loads(pickle.dumps(older)) is older


def test_bad_definitions_of_ones_own(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text("{")
    with pytest.raises(SpecError) as error:
        catalog([path])
    assert (error.value.file, error.value.line) == (str(path), 1)
    with pytest.raises(InputError):
        catalog([tmp_path / "none"])


def test_a_lookup_reads_two_files_and_imports_little():
    script = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" and str(given[0]).endswith(".json") else None)
from kwire_cli.spec.catalog import catalog
catalog().message("MetadataResponse")
print(json.dumps([[name.rpartition("/")[2] for name in opened], sorted(name for name in sys.modules if name.startswith("kwire_cli"))]))
"""  # noqa: E501
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    opened, modules = json.loads(done.stdout)
    assert opened == ["index.json", "MetadataResponse.json"]
    assert not {name for name in modules if "jsontext" in name or "rules" in name or "pathlib" in name}


def test_a_decoded_frame_makes_few_entries():
    script = """
import gc
from kwire_cli import read_frames
from kwire_cli.spec.model import Entry
[frame] = read_frames(bytes.fromhex("0000000d00120000000000070003617070"))
assert frame.api == "ApiVersions"
print(sum(isinstance(each, Entry) for each in gc.get_objects()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 4


def test_the_values_of_specs_are_files_and_one_release(tmp_path, monkeypatch):
    assert catalog(["3.9"]) is catalog("3.9")
    with pytest.raises(InputError, match=r"one release, not 3\.9 and 4\.4"):
        catalog(["3.9", "4.4"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "3.9").mkdir()
    assert catalog(["3.9"]) is catalog()
