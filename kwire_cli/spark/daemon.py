"""The process that an embedded Spark forks its Python workers from.

Common modules are imported here once, instead of in each worker. Objects are frozen, because PySpark makes workers
collect garbage after each task.
"""

from __future__ import annotations

import gc

import numba  # noqa: F401 - for compiled functions
import pandas  # noqa: F401, ICN001 - PySpark imports it in each worker
from pyspark.daemon import manager

import kwire_cli.spark.export  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    manager()
