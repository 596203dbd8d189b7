"""Streams of frames and of records into Parquet, until a file `stop` is there: run by test_streaming, which kills it before."""

import sys
import time
from pathlib import Path

from kwire_cli.pipeline import streams
from kwire_cli.pipeline.session import session

SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
COLUMNS = (
    "file",
    "packet",
    "time_ns",
    "src",
    "dst",
    "stream",
    "kind",
    "size",
    "api",
    "api_version",
    "correlation_id",
    "latency",
    "in_flight",
    "header",
)


def main(captures, logs, out):
    with session("local[2]", SETTINGS) as spark:
        found = {
            "frames": streams(spark, captures, maxBytesPerTrigger=16_000, idle=3600).table("frames", COLUMNS),
            "records": streams(spark, logs, maxBytesPerTrigger=4000)["records"],
        }
        running = []
        for name, frame in found.items():
            writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{out}/{name}.checkpoint")
            running.append(writer.trigger(processingTime="0.2 seconds").start(f"{out}/{name}"))
        while not Path(out, "stop").exists():
            assert all(query.isActive for query in running), [query.exception() for query in running]
            time.sleep(0.1)
        for query in running:
            query.processAllAvailable()
            query.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
