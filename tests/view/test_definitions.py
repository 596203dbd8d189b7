"""Tables of definitions, on terminals too."""

import pytest

import kwire_cli as kwire
from kwire_cli.view.definitions import table_lines
from kwire_cli.view.lines import plain


def shown(message, version=None, room=None):
    return [plain(line).rstrip() for line in table_lines(kwire.catalog().message(message), version, room)]


def test_with_room_every_key_has_its_column():
    whole = shown("FetchRequest")
    assert shown("FetchRequest", room=max(map(len, whole))) == whole
    assert whole[1].split() == ["field", "type", "versions", "tag", "nullable", "default", "notes"]


def test_on_a_narrow_terminal_the_notes_say_the_rest():
    lines = shown("FetchRequest", room=80)[1:]
    notes = lines[0].index("notes")
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["field", "type", "versions", "notes"]
    assert " ".join(line[notes:] for line in lines[1:3]) == "tag 0 (12+), nullable 12+, default null, ignorable"
    assert lines[2][:notes].strip() == ""


def test_a_version_says_what_holds_there():
    lines = shown("FetchResponse", 16, room=80)
    assert "nodeEndpoints             []NodeEndpoint            tag 0" in lines
    assert "    abortedTransactions   []AbortedTransaction      nullable, ignorable" in lines


@pytest.mark.parametrize("room", [20, 40, 60])
def test_nothing_is_lost_where_there_is_no_room_for_notes(room):
    words = " ".join(shown("FetchResponse", room=room)).split()
    assert words == " ".join(shown("FetchResponse", room=80)).split()
