"""docs/grafana/kwire.json: Grafana can load it, and each of its queries finds rows in a lake of samples."""

import json
import re
from itertools import combinations

import duckdb
import pytest
from deltalake import DeltaTable
from kit.commands import ROOT, kwire

DASHBOARD = json.loads((ROOT / "docs" / "grafana" / "kwire.json").read_text("utf-8"))
PANELS = {panel["title"]: panel for panel in DASHBOARD["panels"]}
VARIABLES = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
PLUGIN = "motherduck-duckdb-datasource"
COLUMNS = 24
TIME_SERIES, TABLE = 0, 1
DRAWN = {"BIGINT", "INTEGER", "VARCHAR", "TIMESTAMP WITH TIME ZONE"}
"""Types that the plugin gives Grafana as numbers, texts and times."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The view of docs/lake.md over samples, one of which is throttled. DuckDB's extension for Delta, which the plugin
    downloads, reads the files that count; here they are listed.
    """
    folder = tmp_path_factory.mktemp("lake")
    samples = (ROOT / "samples" / name for name in ("captures", "incidents/throttled.pcap"))
    assert kwire("export", *samples, "-o", folder).code == 0
    page = (ROOT / "docs" / "lake.md").read_text("utf-8")
    (view,) = re.findall(r"initSql: >-\n((?: {9,}.*\n)+)", page)
    view = view.replace("install delta; load delta;", "")
    for name in ("frames", "inputs"):
        files = [path.removeprefix("file://") for path in DeltaTable(str(folder / name)).file_uris()]
        view = view.replace(f"delta_scan('/lake/{name}')", f"read_parquet({files}, union_by_name = true)")
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for _ in range(2):  # the plugin may run it for each of its connections
            connection.execute(view)
        yield connection


def asked(lake, sql, *, start="2026-01-01T00:00:00Z", end="2027-01-01T00:00:00Z", every=60_000):
    """The query that DuckDB gets: variables are replaced in the browser, macros in the plugin."""
    for name in ("capture_point", "api"):
        if f"${name}" in sql:
            values = [value for (value,) in lake.execute(VARIABLES[name]["query"]).fetchall()]
            sql = sql.replace(f"(${name})", "({})".format(",".join(f"'{value}'" for value in values)))
    sql = sql.replace("$__interval_ms", str(every))
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 >= '{start}' AND \1 <= '{end}'", sql)
    assert not re.search(r"\$\w|\$\{", sql)
    return sql


def result(lake, title, **how):
    found = lake.execute(asked(lake, PANELS[title]["targets"][0]["rawSql"], **how))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("title", PANELS)
def test_each_panel_has_rows_that_it_can_draw(lake, title):
    panel = PANELS[title]
    (target,) = panel["targets"]
    rows = result(lake, title)
    assert rows
    described = lake.execute(f"describe {asked(lake, target['rawSql'])}").fetchall()
    assert {kind for _, kind, *_ in described} <= DRAWN
    if panel["type"] == "timeseries":
        assert target["format"] == TIME_SERIES
        assert described[0][:2] == ("time", "TIMESTAMP WITH TIME ZONE")
        times = [row["time"] for row in rows]
        assert times == sorted(times)
        assert [kind for _, kind, *_ in described[2:]] == ["BIGINT"] * (len(described) - 2)
        labels = re.findall(r"labels\.(\w+)", panel["fieldConfig"]["defaults"].get("displayName", ""))
        assert labels == [name for name, kind, *_ in described if kind == "VARCHAR"]
    else:
        assert target["format"] == TABLE
    if panel["type"] == "stat":
        [(value,)] = [row.values() for row in rows]
        assert value > 0


def test_panels_count_what_the_lake_has(lake):
    (requests, size) = lake.execute("select count(*) filter (kind = 'request'), sum(size) from frames").fetchone()
    for every in (1000, 60_000, 86_400_000):
        assert sum(row["requests"] for row in result(lake, "Requests by api", every=every)) == requests
    assert result(lake, "Requests") == [{"requests": requests}]
    assert result(lake, "Bytes") == [{"bytes": size}]
    assert sum(row["errors"] for row in result(lake, "Errors by api")) == result(lake, "Errors")[0]["errors"]
    throttled = "select max(throttle_ms) from frames"
    assert max(row["throttle"] for row in result(lake, "Throttle by client")) == lake.execute(throttled).fetchone()[0]


def test_a_time_range_without_rows_is_no_error(lake):
    empty = {title: result(lake, title, start="2020-01-01T00:00:00Z", end="2020-01-02T00:00:00Z") for title in PANELS}
    for title, rows in empty.items():
        assert not rows or PANELS[title]["type"] == "stat"


def test_latency_leaves_out_what_waits_on_purpose():
    for title in ("Latency", "Latency, p99"):
        assert "and not delayed" in PANELS[title]["targets"][0]["rawSql"]


def test_grafana_can_load_it():
    assert DASHBOARD["schemaVersion"] == 39
    assert DASHBOARD["uid"]
    assert DASHBOARD["title"]
    assert {"from", "to"} == set(DASHBOARD["time"])
    assert VARIABLES["datasource"] | {"type": "datasource", "query": PLUGIN} == VARIABLES["datasource"]
    source = {"type": PLUGIN, "uid": "${datasource}"}
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(PANELS) == len(ids) == len(set(ids))
    for panel in DASHBOARD["panels"]:
        assert panel["type"] in {"stat", "timeseries", "table"}
        assert [panel["datasource"], *(target["datasource"] for target in panel["targets"])] == [source, source]
        assert all(target["refId"] and target["editorMode"] == "code" for target in panel["targets"])
    assert [each["datasource"] for name, each in VARIABLES.items() if name != "datasource"] == [source, source]


def test_panels_stand_side_by_side():
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    for place in places:
        assert min(place["x"], place["y"], place["w"] - 1, place["h"] - 1) >= 0
        assert place["x"] + place["w"] <= COLUMNS
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
