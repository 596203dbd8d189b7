"""Works that go to tasks as rows."""

import pytest

from kwire_cli.pipeline import parts
from kwire_cli.pipeline.parts import folded, received, sent

pytestmark = pytest.mark.spark


def of_tasks(works):
    """Return the works that each task receives."""
    rows = works.mapInArrow(lambda batches: batches, works.schema).rdd.glom().collect()
    return [[(row.number, row.work) for row in some] for some in rows]


@pytest.mark.parametrize(("count", "most", "tasks"), [(0, 9, 0), (1, 9, 1), (7, 9, 7), (7, 3, 3), (300, 20_000, 300)])
def test_each_work_goes_to_one_task_in_order(spark, monkeypatch, count, most, tasks):
    monkeypatch.setattr(parts, "MOST_TASKS", most)
    made = of_tasks(sent(spark, range(count)))
    assert len(made) == tasks
    assert [number for some in made for number, _ in some] == [*range(count)]
    assert all(some for some in made)


def test_works_are_received_as_they_were_sent(spark):
    works = ["a", ("b", 2), None]
    found = [each for batch in sent(spark, works).toArrow().to_batches() for each in received([batch])]
    assert found == [*enumerate(works)]


def test_settings_of_the_session_stay(spark):
    before = spark.conf.get("spark.sql.execution.arrow.localRelationThreshold")
    sent(spark, [1])
    assert spark.conf.get("spark.sql.execution.arrow.localRelationThreshold") == before


def test_results_come_in_the_order_of_works(spark):
    made = folded(spark, range(200), list, list.extend)
    assert [number for some in made for number in some] == [*range(200)]
    assert folded(spark, [], list, list.extend) == []
