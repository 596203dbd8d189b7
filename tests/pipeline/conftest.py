import os
import shutil
import sys

import pytest
from kit.lakes import ACCESS, serving


@pytest.fixture(scope="session")
def object_store():
    """A server that speaks S3."""
    with serving() as store:
        yield store


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """An embedded Spark with two threads, whose workers run this Python."""
    sql = pytest.importorskip("pyspark.sql")
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        pytest.skip("no Java")
    from kwire_cli.pipeline.session import BRIEF

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": BRIEF,  # tests ask many small things, each in its own way
        "spark.driver.host": "127.0.0.1",
        "spark.python.daemon.module": "kwire_cli.pipeline.daemon",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in ACCESS.items():
        os.environ.setdefault(name, value)  # which the workers of this session have from Java, and Java from here
    builder = sql.SparkSession.builder.master("local[2]").appName("kwire tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
