"""docs/model.md names every key of batches and records that encode takes."""

from kit.commands import ROOT

from kwire_cli.records.payload_writing import RECORD_KEYS
from kwire_cli.records.writing import ITEM_KEYS

FILE = ROOT / "docs" / "model.md"


def test_it_names_every_key():
    page = FILE.read_text("utf-8")
    # A line says which file and partition it is of where there are several.
    assert {
        key
        for key in (ITEM_KEYS | RECORD_KEYS) - {"file", "partition"}
        if f"`{key}`" not in page and f'"{key}"' not in page
    } == set()
