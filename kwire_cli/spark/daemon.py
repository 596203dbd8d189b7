"""The process that an embedded Spark forks its Python workers from: what they all need is imported here once, instead
of in each of them, and no garbage: PySpark has workers look for that after each task.
"""

from __future__ import annotations

import gc

import numba  # noqa: F401 - for what is compiled
import pandas  # noqa: F401, ICN001 - PySpark takes it into each worker
from pyspark.daemon import manager

import kwire_cli.spark.export  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    manager()
