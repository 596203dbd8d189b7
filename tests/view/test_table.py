import re

import pytest
from kit.commands import kwire

from kwire_cli.view import widths
from kwire_cli.view.tables import bar, csv_row, text_of


def test_cells_move_no_cursor():
    assert "\x1b" not in text_of("a\x1b[2Jb\n")
    assert text_of(["a", None, True, 3]) == "a,,true,3"


def test_csv_is_quoted_where_it_must_be():
    assert csv_row(["a,b", 'c"d', None, [1, 2], 0.5]) == '"a,b","c""d",,1;2,0.5'


def test_the_rows_behind_the_first_have_their_columns(monkeypatch):
    monkeypatch.setattr(widths, "HELD", 50)
    asked = ("decode", "--format", "table", "--fields", "client,kind,frame", "samples/captures/ipv6.pcap")
    lines = kwire(*asked).out.splitlines()
    assert len(lines) > 52
    assert {len(line) for line in lines} == {len(lines[0])}
    coloured = kwire(*asked, variables={"FORCE_COLOR": "1"})
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured.out.splitlines()] == lines


@pytest.mark.parametrize(("value", "length"), [(0, 0), (-1, 0), (1e-9, 1), (50, 12), (100, 24), (200, 24)])
def test_a_bar_is_as_long_as_its_share(value, length):
    assert len(bar(value, 100)) == length
