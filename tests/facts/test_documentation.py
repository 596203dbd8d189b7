"""docs/tables.md has the columns of frames, as their entries describe them."""

from kit.commands import ROOT, hold_table

from kwire_cli.facts.columns import DUCKDB_TYPES, FRAMES

SPELLED = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
FOLDERS = (
    "| `capture_point` | VARCHAR | no | by the folder's name |",
    "| `day` | DATE | no time | day of `time`, by the folder's name |",
)


def test_the_table_of_columns(updating):
    rows = ["| column | type | null | meaning |", "| --- | --- | --- | --- |"]
    for column in FRAMES:
        kind = DUCKDB_TYPES[column.type]
        rows.append(f"| `{column.name}` | {SPELLED.get(kind, kind)} | {column.null or 'no'} | {column.meaning} |")
    hold_table(ROOT / "docs" / "tables.md", "frames", [*rows, *FOLDERS], updating)
