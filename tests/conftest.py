import atexit
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

ROOT = Path(__file__).resolve().parent.parent
SLOW = {"spark", "browser", "build"}
"""Markers of tests that only `make check` runs."""
QUICK = "not slow"

# The same examples in every run, and no deadline: a busy machine is no failure.
settings.register_profile(
    "kwire",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("kwire"), max_examples=10)
settings.load_profile("kwire")
# Hypothesis also draws constants of the modules that are loaded, which differ from process to process.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants

# What a terminal or a user's settings say of width, colours and pagers must not change what commands print.
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "PAGER", "KWIRE_PAGER", "GIT_PAGER"):
    os.environ.pop(name, None)

# Nor must the user's configuration.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="kwire-configuration-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)

# Behind a shell's `&` Ctrl-C is ignored, and all processes that are started inherit that: tests that send it wait for
# ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Asserts are rewritten once for all processes and runs, not by each of them, and processes that tests start find the
# package compiled: what PYTHONDONTWRITEBYTECODE would cost is half of what finding the tests takes.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser):
    parser.addoption(
        "--update",
        action="store_true",
        help="write golden output and generated documents anew instead of comparing with them",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One process more than cores, as tests wait for Java, browsers and commands; few, as Spark takes 2 GB in each."""
    return min((os.cpu_count() or 1) + 1, 8)


def pytest_configure(config):
    if config.option.markexpr == QUICK:
        settings.load_profile("quick")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(config))


class Failures:
    """Names each failure at once: a run that is ended from outside prints no summary."""

    def __init__(self, config):
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        if report.failed and terminal:
            terminal.write_line(f"\n{report.nodeid}: {report.longreprtext.rpartition(chr(10))[2]}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if not SLOW.isdisjoint(item.keywords) or "spark" in item.fixturenames:
            item.add_marker("slow")
    # Side by side, so that one process starts the session that they share; and first, as they take longest.
    items.sort(key=lambda item: not any(item.iter_markers("spark")))
    if (ROOT.parent / "shared" / "golden").is_dir():
        return
    absent = pytest.mark.skip(reason="no reference data beside the checkout")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(absent)


@pytest.fixture
def updating(request):
    """Whether files with expected output are to be written anew (--update)."""
    return request.config.getoption("--update")


@pytest.fixture(scope="session")
def wire():
    """Frames to speak with, and connections that are spoken on."""
    from kit.traffic import Wire

    return Wire


@pytest.fixture
def few_rules():
    """A diagnosis asks a few rules."""
    from kit.calls import few_rules

    with few_rules():
        yield


@pytest.fixture(scope="session")
def object_store():
    """A server that speaks S3."""
    from kit.lakes import serving

    with serving() as store:
        yield store


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """An embedded Spark with two threads, whose workers run this Python."""
    sql = pytest.importorskip("pyspark.sql")
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        pytest.skip("no Java")
    from kwire_cli.spark.session import BRIEF

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": BRIEF,  # tests ask many small things, each in its own way
        "spark.driver.host": "127.0.0.1",
        "spark.python.daemon.module": "kwire_cli.spark.daemon",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    from kit.lakes import ACCESS

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in ACCESS.items():
        os.environ.setdefault(name, value)  # which the workers of this session have from Java, and Java from here
    builder = sql.SparkSession.builder.master("local[2]").appName("kwire tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    before = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    signal.signal(signal.SIGINT, before)  # Spark's own handler would take the Ctrl-C of other tests of this process
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
