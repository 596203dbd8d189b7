"""The workers of an embedded Spark, and what any Spark reads of a lake."""

import re
from pathlib import Path

import pytest
from kit.commands import kwire

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lake.md"

pytestmark = pytest.mark.spark


def test_workers_look_for_no_garbage_among_what_was_imported_for_them(spark):
    def left_out(batches):
        import gc

        for batch in batches:
            yield batch.set_column(0, "id", [gc.get_freeze_count()])

    (row,) = spark.range(1, numPartitions=1).mapInArrow(left_out, "id bigint").collect()
    assert row[0] > 10_000


@pytest.mark.usefixtures("spark")
def test_the_page_reads_the_lake_that_export_wrote(monkeypatch, capsys, updating, tmp_path):
    text = PAGE.read_text("utf-8")
    (command,) = re.findall(r"^\$ kwire (export .* -o lake.* --master .*)$", text, re.MULTILINE)
    program, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL).groups()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(PAGE.parents[1] / "samples")
    assert kwire(*command.split()).code == 0
    here = program.replace('"lake"', f'"{tmp_path}/lake"')  # Java has another working directory
    exec(here, {})  # the session that there is already is the one that the program gets
    printed = capsys.readouterr().out.strip("\n") + "\n"
    if updating:
        PAGE.write_text(text.replace(f"```\n\n```\n{shown}```", f"```\n\n```\n{printed}```"), "utf-8")
    else:
        assert printed == shown
