"""Write lakes of Delta and Iceberg with a Spark that has their jars, and print what they hold, a line of JSON a look.

A program of its own: the jars and settings are those of a whole process. Arguments: a folder, the samples, formats.
"""

import json
import shutil
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from kwire_cli.errors import InputError
from kwire_cli.pipeline import register
from kwire_cli.pipeline.into import scan_into
from kwire_cli.pipeline.lake import TABLES, chosen
from kwire_cli.pipeline.lake.export import export
from kwire_cli.pipeline.lake.query import Lake
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.pipeline.table_formats import TableLake, jar_for

WANTED = Wanted(chosen("frames,names,records"), Reading())


def started(forms):
    jars = [jar_for(form, pyspark.__version__).rpartition("=")[2] for form in forms]
    builder = SparkSession.builder.master("local[2]").config("spark.jars.packages", ",".join(jars))
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # code that runs once
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    for form in forms:
        settings |= TABLES[form]
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    return spark


def rows_of(table, rows):
    out = []
    for row in rows:
        for name in ("unit", "kwire_schema", *(("modified", "read", "rows") if table == "inputs" else ())):
            row.pop(name, None)
        out.append(repr(sorted((name, str(value)) for name, value in row.items())))
    return sorted(out)


def content(spark, form, lake):
    """The rows of all tables by any reader of their format."""
    out = {}
    for path in sorted(lake.iterdir()):
        frame = spark.read.format(form).load(str(path))
        if rows := rows_of(path.name, frame.toArrow().to_pylist()):
            out[path.name] = rows
    return out


def wanted(inputs, folder):
    shutil.rmtree(folder, ignore_errors=True)
    export([str(inputs)], folder, WANTED)
    with Lake(folder) as tables:
        return {
            name: rows_of(name, tables.arrow(f"select * from {name}").read_all().to_pylist()) for name in tables.tables
        }


def tried(spark, form, folder, samples):
    """What a lake of a format is after each of some runs."""
    inputs, lake, whole = folder / f"{form} in", folder / f"{form} lake", folder / f"{form} whole"
    (inputs / "a").mkdir(parents=True)
    shutil.copy(samples / "captures" / "ipv6.pcap", inputs / "a")
    shutil.copytree(samples / "segments" / "orders-zstd-0", inputs / "orders-0")

    def run():
        return scan_into(spark, [str(inputs)], lake, WANTED, form=form)

    def said(name, **what):
        print(json.dumps({"form": form, "look": name, **what}), flush=True)

    def look(name, **also):
        same = content(spark, form, lake) == wanted(inputs, whole)
        print(
            json.dumps({"form": form, "look": name, "same": same, "hidden": len([*lake.glob("_*")]), **also}),
            flush=True,
        )

    done = run()
    look("first", read=done.read, known=done.known, rows=done.rows)
    before = content(spark, form, lake)
    shutil.copy(samples / "captures" / "kafka-python-4.4.0.pcapng", inputs / "a" / "ipv6.pcap")  # instead of the first
    (inputs / "b").mkdir()
    shutil.copy(samples / "captures" / "ipv6.pcap", inputs / "b")
    finish, replace = TableLake.finish, TableLake._replace
    TableLake.finish = lambda *_: 1 / 0
    try:
        run()
    except ZeroDivisionError:
        said("failed", same=content(spark, form, lake) == before)
    TableLake.finish = finish

    def replaced(self, table, *rest):
        if table == "inputs":
            raise ZeroDivisionError
        replace(self, table, *rest)

    TableLake._replace = replaced
    try:
        run()
    except ZeroDivisionError:
        TableLake._replace = replace
    done = run()
    look("second", read=done.read, known=done.known)
    done = run()
    look("third", read=done.read, known=done.known)
    shutil.copytree(samples / "segments" / "v1-kp-gzip-0", inputs / "more-0")
    done = scan_into(spark, [str(inputs / "more-0")], lake, WANTED, form=form)
    look("others", read=done.read, known=done.known)
    try:
        Lake(lake)
    except InputError as error:
        said("query", error=error.reason)
    try:
        scan_into(spark, [str(inputs)], lake, WANTED, form="parquet")
    except InputError as error:
        said("other", error=error.reason)


def main(folder, samples, *forms):
    spark = started(forms)
    for form in forms:
        tried(spark, form, Path(folder), Path(samples))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
