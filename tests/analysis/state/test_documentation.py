"""docs/groups.md and docs/diff.md name every kind of line and of difference."""

import re

from kit.commands import ROOT

from kwire_cli.analysis.comparison.partitions import KINDS, LEGAL
from kwire_cli.analysis.state.tables import LISTINGS


def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


def test_every_table_is_named():
    text = page("groups")
    names = ["logs", *(listing.name for listings in LISTINGS.values() for listing in listings)]
    assert [name for name in names if f"`{name}`" not in text] == []
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (yes|no) ", page("diff"), re.MULTILINE))
    assert rows == {kind: "yes" if kind in LEGAL else "no" for kind in KINDS}
