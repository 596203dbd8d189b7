"""docs/findings.md: its list of findings is made from the rules, and its table of captures is what diagnose finds."""

import json
import re

import pytest
from kit.commands import ROOT, kwire

from kwire_cli.analysis.diagnosis.rules import kinds
from kwire_cli.questions.rule_files import SEVERITIES

PAGE = ROOT / "docs" / "findings.md"
BEGIN, END = "<!-- made from the rules: begin -->", "<!-- made from the rules: end -->"
OWN = ROOT.parent / "shared" / "real" / "own"


def wrapped(text, width=100, first="", rest=""):
    lines, line = [], first
    for word in text.split():
        if len(line) + len(word) + 1 > width and line.strip():
            lines.append(line.rstrip())
            line = rest
        line += ("" if not line or line.endswith(" ") else " ") + word
    return "\n".join([*lines, line])


def made():
    """The part of the page that is made: a table by code, and a section for each kind."""
    ranked = sorted(kinds(), key=lambda kind: (SEVERITIES.index(kind.severity), kind.code))
    lines = ["| finding | severity | what it says |", "| --- | --- | --- |"]
    lines += [f"| [`{kind.code}`](#{kind.code.lower()}) | {kind.severity} | {kind.title} |" for kind in ranked]
    for kind in ranked:
        lines += ["", f"### {kind.code}", ""]
        lines += [wrapped(f"*{kind.severity.capitalize()}.* {kind.title} {kind.meaning}"), ""]
        see = f" *See* {', '.join(kind.see)}." if kind.see else ""
        lines += [wrapped(f"*What to do.* {kind.advice}{see}")]
        if kind.advice_by_client:
            lines += [""]
        lines += [wrapped(f"- {client}: {text}", rest="  ") for client, text in kind.advice_by_client]
    return "\n".join(lines)


def test_the_page_lists_every_finding_as_the_rules_document_it(request):
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    anew = f"{before}{BEGIN}\n\n{made()}\n\n{END}{after}"
    if request.config.getoption("--update"):
        PAGE.write_text(anew, "utf-8")
        text = anew
    assert text == anew


ROW = re.compile(r"^\| `([\w.-]+)` \| `(\w+)` \|", re.MULTILINE)


@pytest.mark.shared
@pytest.mark.slow  # all captures and log directories
def test_the_tables_of_real_inputs_are_what_diagnose_finds():
    """Each finding in them was judged by hand: a new one has to be judged too."""
    text = PAGE.read_text("utf-8").partition("## Real captures, judged by hand")[2]
    judged = {*ROW.findall(text)}
    sound = {*re.findall(r"`([\w.-]+)`", text.partition("Captures without an error")[2])}
    inputs = {path.parent.name: path for path in OWN.glob("captures/*/*.pcap*")}
    inputs |= {path.name: path for path in OWN.glob("segments/*") if path.is_dir()}
    assert {name for name, _ in judged} | sound == {*inputs}
    diagnosed = set()
    for name, path in inputs.items():
        done = kwire("diagnose", path, "--severity", "warning", "--format", "json")
        assert done.code == 0, done.err
        diagnosed |= {(name, row["code"]) for row in json.loads(done.out)["tables"]["findings"]}
    assert diagnosed == judged
