"""Fuzz one target, guided by coverage: python tests/fuzz/run.py TARGET SECONDS [FOLDER].

Needs atheris (pip install atheris), which has wheels for few Pythons only and is therefore none of the development
dependencies. What ends a run lies in FOLDER (.fuzz/TARGET by default) as crash-…; once it is mended it goes to
tests/fuzz/corpus/TARGET, where test_targets.py runs it for ever.
"""

import importlib
import pkgutil
import sys
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]


def import_all(package):
    """Commands import what they need when they run, and only what is imported here is watched. What is compiled can't
    be.
    """
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        source = Path(each.module_finder.path) / f"{each.name.rpartition('.')[2]}.py"
        if each.ispkg or not any(
            word in source.read_text("utf-8")
            for word in ("import numpy", "import numba", "pyarrow", "pyspark", "numba", "main()\n")
        ):
            importlib.import_module(each.name)


with atheris.instrument_imports(include=["kwire_cli"]):
    import kwire_cli

    import_all(kwire_cli)
    import targets


def main():
    name, seconds = sys.argv[1], sys.argv[2]
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else f".fuzz/{name}")
    found, seeds = folder / "found", folder / "seeds"
    for each in (found, seeds):
        each.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(targets.seeds(name)):
        (seeds / f"{number:04}").write_bytes(data)
    limits = [
        f"-max_total_time={seconds}",
        f"-max_len={targets.size_of(name)}",
        "-timeout=60",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *limits, "-print_final_stats=1", str(found), str(seeds)], targets.TARGETS[name])
    atheris.Fuzz()


main()
