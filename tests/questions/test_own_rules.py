"""Rules that a user writes: the one in docs/findings.md works, and a rule reads tables and nothing else."""

import re

import pytest
from kit.calls import CATALOG, asked, subjects
from kit.commands import ROOT, json_of

from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.rule_files import read_rules

CAPTURE = ROOT / "samples" / "incidents" / "lag.pcap"
BLOCKS = re.findall(r"```(sql|toml)\n(.*?)```", (ROOT / "docs" / "findings.md").read_text("utf-8"), re.DOTALL)


def test_the_sample_is_the_rule_of_the_page():
    for suffix, text in BLOCKS:
        assert (ROOT / "samples" / "rules" / f"LARGE_RESPONSES.{suffix}").read_text("utf-8") == text


def write_rule(folder, **more):
    files = dict(BLOCKS) | more
    for suffix, text in files.items():
        (folder / f"LARGE_RESPONSES.{suffix}").write_text(text, "utf-8")
    return folder


@pytest.mark.usefixtures("few_rules")
def test_the_rule_of_the_page_finds_something(tmp_path):
    found = json_of("diagnose", CAPTURE, "--rules", write_rule(tmp_path))["tables"]["findings"]
    rows = [row for row in found if row["code"] == "LARGE_RESPONSES"]
    assert {(row["severity"], row["subject"]) for row in rows} == {("info", "client counter"), ("info", "client site")}
    assert all(re.fullmatch(r"\w+ responses of up to [\d.]+ (bytes|kB)", row["text"]) for row in rows)
    assert len(rows[0]["evidence"]) <= 10
    assert rows[0]["evidence"][0]["frame"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select 1) as x; create table t as select 1; select * from (select 1", "is one SELECT, and nothing else"),
        ("select * from read_csv('/etc/passwd')", "file system operations are disabled"),
        ("select * from '/etc/hostname'", "does not exist"),
        ("copy (select 1) to 'evil.csv'", "syntax error"),
        ("select 1 as one", "its text names 'client'"),
        ("select client from nowhere", "Table with name nowhere does not exist"),
        ("select 'a' as client, 'GET' as api, 1 as largest, 5 as evidence", "evidence is a list of places"),
        ("select 'a' as client, 'GET' as api, 1 as largest, 'x' as weight", "weight is a number"),
        ("select 'a' as client, 'GET' as api, 1 as largest, [1] as more_meaning", "all other columns that rules know"),
    ],
)
def test_a_rule_that_does_anything_else_is_an_error(tmp_path, query, reason):
    diagnosis = asked(Diagnosis(Redaction(CATALOG), read_rules(write_rule(tmp_path, sql=query))), subjects(CAPTURE))
    with pytest.raises(InputError, match="rule LARGE_RESPONSES") as error:
        diagnosis.findings()
    assert reason in str(error.value)
    assert not [*tmp_path.glob("*.csv")]
