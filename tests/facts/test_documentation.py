"""docs/tables.md has the columns of frames, as their entries describe them."""

from kit.commands import ROOT, hold_table

from kwire_cli.facts.columns import DUCKDB_TYPES, FRAMES

SPELLED = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
KEYS = (
    "| `unit` | VARCHAR | no | the file of the row, or `point: NAME` for the state of a capture point |",
    "| `run` | VARCHAR | no | the run that wrote the row |",
)
PLACES = (
    "| `capture_point` | VARCHAR | no | the capture point |",
    "| `day` | DATE | no time | the day of `time`, by the name of the folder |",
)


def test_the_table_of_columns(updating):
    rows = ["| column | type | null | meaning |", "| --- | --- | --- | --- |", *KEYS]
    for column in FRAMES:
        kind = DUCKDB_TYPES[column.type]
        also = "; also " + ", ".join(f"`{name}`" for name in column.also) if column.also else ""
        rows.append(f"| `{column.name}` | {SPELLED.get(kind, kind)} | {column.null or 'no'} | {column.meaning}{also} |")
    hold_table(ROOT / "docs" / "tables.md", "frames", [*rows, *PLACES], updating)
