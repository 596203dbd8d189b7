"""The package as users get it: what the wheel holds, what it needs, and what a command loads."""

import ast
import importlib.util
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from functools import cache
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest

import kwire_cli
from kwire_cli.spec.kafka import VERSION
from kwire_cli.view.wireshark.dissector import CHAPTERS

ROOT = Path(__file__).resolve().parent.parent
FRAME = "0000000a00120000000000010000"

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EVERYWHERE = os.environ.get("KWIRE_INSTALL") == "all"
"""Whether kwire is installed by every Python with each extra, which takes minutes, and not once with small extras."""

WATCH = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from kwire_cli.cli.main import run
code = run(sys.argv[1:])
import json
print(json.dumps({"code": code, "modules": sorted(sys.modules), "opened": opened}), file=sys.stderr)
"""
HEAVY = {
    "asyncio", "concurrent.futures", "email", "http", "logging", "multiprocessing", "numba", "numpy", "pandas",
    "pyarrow", "pyspark", "rich.console",
    "socket", "ssl", "subprocess", "tempfile", "unittest", "urllib.request", "xml", "zipfile",
}  # fmt: skip


@cache
def watched(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *arguments],
        cwd=ROOT,
        capture_output=True,
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    seen = json.loads(done.stderr.splitlines()[-1])
    assert seen["code"] == 0, done.stderr
    return seen, done.stdout.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            pytest.param(["decode", "--format", fmt, FRAME], marks=pytest.mark.slow if fmt != "jsonl" else ())
            for fmt in ("tree", "hex", "json", "jsonl")
        ),
        ["encode", "-m", "HeartbeatResponse", "--message-version", "0", '{"errorCode":0}'],
        ["spec", "show", "HeartbeatRequest"],
        ["spec", "errors", "3", "--format", "json"],
        ["dump", "--deep", "samples/segments/orders-zstd-0/00000000000000000000.log"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_a_command_loads_nothing_heavy(arguments):
    seen, out = watched(*arguments)
    assert out
    assert HEAVY.isdisjoint(seen["modules"])
    assert "rich" not in seen["modules"]


def test_the_doctor_imports_nothing_that_it_looks_at():
    seen, out = watched("doctor")
    assert "python" in out
    assert {"cryptography", "cramjam", "numba", "numpy", "pandas", "pyarrow", "pyspark"}.isdisjoint(seen["modules"])


def test_importing_the_package_loads_none_of_it():
    show = (
        "import kwire, kwire_cli, sys; assert kwire is kwire_cli; "
        "print(sorted(name for name in sys.modules if name.startswith(('kwire_cli', 'click', 'construct'))))"
    )
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "['kwire_cli', 'kwire_cli.errors', 'kwire_cli.spec', 'kwire_cli.spec.kafka']"


def test_public_names_load_when_they_are_used():
    assert {*dir(kwire_cli)} == {*kwire_cli.__all__, "__version__"}
    for name in kwire_cli.__all__:
        assert pickle.loads(pickle.dumps(getattr(kwire_cli, name))) is getattr(kwire_cli, name)
    with pytest.raises(AttributeError, match="nothing"):
        kwire_cli.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("fmt", "named"), [("tree", ["enums.json"]), ("hex", ["enums.json"]), ("json", []), ("jsonl", [])]
)
def test_a_decode_opens_only_the_definitions_that_it_needs(fmt, named):
    seen, _ = watched("decode", "--format", fmt, FRAME)
    specs = [Path(path).name for path in seen["opened"] if Path(path).parent == ROOT / "specs"]
    headers = ["header-versions.json", "RequestHeader.json", "ResponseHeader.json"]
    assert sorted(specs) == sorted(["index.json", *headers, "ApiVersionsRequest.json", *named])


def test_a_body_alone_needs_no_header():
    seen, _ = watched("decode", "-m", "HeartbeatResponse", "--message-version", "0", "0000")
    assert [Path(path).name for path in seen["opened"] if Path(path).parent == ROOT / "specs"] == [
        "index.json",
        "HeartbeatResponse.json",
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from this checkout; without the network where hatchling is installed."""
    out = tmp_path_factory.mktemp("dist")
    options = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", *options, "--outdir", out, ROOT], capture_output=True, check=True
    )
    [built] = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A virtual environment of its own with the wheel, and of the packages of this one only those that the wheel says
    it needs.
    """
    home = tmp_path_factory.mktemp("home")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    [site] = home.glob("lib/python*/site-packages")
    for needed in requirements("kwire"):
        for file in distribution(needed).files:
            top = Path(file.parts[0])
            there = Path(distribution(needed).locate_file(top))
            if ".." not in file.parts and top.name != "__pycache__" and not (site / top).exists():
                (site / top).symlink_to(there)
    return home / "bin"


def requirements(name):
    """The names of what a package needs, and what that needs, without extras."""
    open_names, found = [name], set()
    while open_names:
        for line in distribution(open_names.pop()).requires or ():
            needed = re.match(r"[\w.-]+", line).group()
            if ";" not in line and needed not in found:
                found.add(needed)
                open_names.append(needed)
    return found


@pytest.mark.build
def test_the_wheel_holds_every_definition_and_nothing_strange(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    specs = {
        f"kwire_cli/specs/{path.relative_to(ROOT / 'specs').as_posix()}" for path in (ROOT / "specs").rglob("*.json")
    }
    code = {path.relative_to(ROOT).as_posix() for path in (ROOT / "kwire_cli").rglob("*.py")} - {"kwire_cli/kwire.py"}
    assert len(specs) > 290
    page = {
        path.relative_to(ROOT).as_posix()
        for folder in ("page", "vendor")
        for path in (ROOT / "kwire_cli" / "view" / folder).iterdir()
        if path.is_file() and path.suffix != ".py"
    }
    chapters = {f"kwire_cli/view/wireshark/{name}.lua" for name in CHAPTERS}
    others = {name for name in names - specs - code - page - chapters if not re.match(r"kwire-[^/]*\.dist-info/", name)}
    assert specs | code | page | chapters <= names
    assert len(page) > 15
    queries = {path.relative_to(ROOT).as_posix() for path in (ROOT / "kwire_cli").rglob("*.sql")}
    queries |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "kwire_cli").rglob("*.toml")}
    assert len(queries) > 40
    assert others == queries | {"kwire.py", "kwire_cli/spark/log4j2.properties", "kwire_cli/py.typed"}


@pytest.mark.build
def test_links_of_the_description_lead_to_the_repository(wheel):
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"kwire-{VERSION}.dist-info/METADATA").decode()
    readme, url = (ROOT / "README.md").read_text("utf-8"), PROJECT["urls"]["Repository"]
    links = re.findall(r"(?<=\]\()[^)]*(?=\))", text.split("\n\n", 1)[1])
    places = [re.sub(rf"^{url}/(?:blob|raw)/v{VERSION}/", "", link) for link in links]
    assert places == re.findall(r"(?<=\]\()[^)]*(?=\))", readme)
    assert all(link.startswith("https://") for link in links)
    assert [link.split("/")[5] for link in links if link.endswith(".svg")] == ["raw"]
    assert "Description-Content-Type: text/markdown" in text
    assert f"Project-URL: Repository, {url}" in text


@pytest.mark.build
def test_the_installed_command_works_away_from_the_checkout(installed, tmp_path):
    (tmp_path / "frame.hex").write_text(FRAME)
    variables = {"PATH": os.defpath, "LANG": "C"}

    def run(*arguments, **options):
        return subprocess.run(
            [installed / "kwire", *arguments], cwd=tmp_path, env=variables, capture_output=True, check=True, **options
        ).stdout

    assert json.loads(run("decode", "frame.hex"))["api"] == "ApiVersions"
    assert run("encode", input=run("decode", "frame.hex")).decode().strip() == FRAME
    assert b"ApiVersionsRequest version 0" in run("spec", "show", "ApiVersionsRequest", "0")
    assert "└─ body".encode() in run("decode", "--format", "tree", "frame.hex")
    where = (
        "import kwire_cli, json; from kwire_cli.spec.files import specs_folder; "
        "print(json.dumps([kwire_cli.__file__, specs_folder()]))"
    )
    done = subprocess.run(
        [installed / "python", "-I", "-c", where], cwd=tmp_path, env=variables, capture_output=True, check=True
    )
    assert all(Path(path).is_relative_to(installed.parent) for path in json.loads(done.stdout))


def interpreter(version):
    """The Python of a version, which a shell finds and which can make environments; without one the test is skipped."""
    path = shutil.which(f"python{version}")
    ask = "import sys, venv, ensurepip; print(*sys.version_info[:2], sep='.')"
    for python in filter(None, (path, sys.executable)):
        done = subprocess.run([python, "-c", ask], capture_output=True, check=False, text=True)
        if done.stdout.strip() == version:
            return python
    pytest.skip(f"there is no Python {version}")


def installs():
    """The versions of Python and the extras to install with."""
    if not EVERYWHERE:
        return [("{}.{}".format(*sys.version_info[:2]), "tls,tui")]
    return [(version, extra) for version in PYTHONS for extra in ("", *PROJECT["optional-dependencies"])]


@pytest.mark.build
@pytest.mark.parametrize(("version", "extras"), installs())
def test_pipx_installs_the_wheel(version, extras, wheel, tmp_path):
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    pipx = shutil.which("pipx", path=beside) or pytest.skip("there is no pipx")
    python = interpreter(version)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    folders = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin"}
    variables |= {name: str(tmp_path / folder) for name, folder in folders.items()} | {"PATH": beside}
    what = f"{wheel}[{extras}]" if extras else str(wheel)
    command = [pipx, "install", "--python", python, what]
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=variables)
    if done.returncode and not index_is_reached():
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr

    def run(*arguments):
        command = [tmp_path / "bin" / "kwire", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, check=True).stdout.decode()

    rows = [json.loads(line) for line in run("doctor", "--format", "jsonl").splitlines()]
    wanted = {"kwire", *(f"kwire[{extra}]" for extra in extras.split(",") if extra and extra != "all")}
    assert {row["state"] for row in rows if row["part"] in wanted} == {"ok"}
    assert wanted <= {row["part"] for row in rows}
    assert f"{version}." in next(row["installed"] for row in rows if row["name"] == "python")
    capture = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
    assert "kp-producer" in run("clients", capture)


def index_is_reached():
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    return not subprocess.run([*pip, "index", "versions", "construct"], capture_output=True, check=False).returncode


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.slow
def test_the_declared_dependencies_are_those_that_are_imported():
    # Distributions are mostly called as what they hold.
    called = {"google": "protobuf", "opentelemetry": "opentelemetry-proto"}
    modules = {name.split(".")[0] for path in (ROOT / "kwire_cli").rglob("*.py") for name in imported(path)}
    used = {called.get(name, name) for name in modules}
    base = {re.match(r"[\w.-]+", line).group() for line in PROJECT["dependencies"]}
    extra = {
        re.match(r"[\w.-]+", line).group() for lines in PROJECT["optional-dependencies"].values() for line in lines
    }
    foreign = used - set(sys.stdlib_module_names) - {"kwire_cli", "polars"}  # given tables, if a program has it
    assert base <= foreign <= base | extra


def test_the_page_on_installing_has_each_extra_with_its_libraries():
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*?) \|$", page, re.MULTILINE)
    extras = PROJECT["optional-dependencies"]
    assert {*dict(rows)} == {*extras}
    for name, libraries in rows[:-1]:
        parts = [re.match(r"kwire\[(\w+)\]|[\w-]+", line) for line in extras[name]]
        assert [part[1] or part[0] for part in parts] == libraries.split(", ")
    assert extras["all"] == [f"kwire[{','.join(sorted(name for name, _ in rows[:-1]))}]"]


def lowest(line):
    """`name==version` of the lowest version that a requirement allows."""
    name, version = re.match(r"([\w.-]+)(?:\[[^]]*\])?>=([\w.]+)", line).groups()
    return f"{name}=={version}"


@pytest.mark.build
@pytest.mark.parametrize("version", PYTHONS[-1:])
def test_the_lowest_versions_that_are_allowed_have_wheels(version, tmp_path):
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    wanted = sorted(
        {lowest(line) for line in lines if not line.startswith(("kwire[", "pyspark"))}
    )  # pyspark has no wheels at all
    assert len(wanted) > 15
    if not index_is_reached():
        pytest.skip("no package index can be reached")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    install = ["install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--only-binary=:all:"]
    install += ["--target", tmp_path, "--python-version", version, "--implementation", "cp"]
    for abi in (f"cp{version.replace('.', '')}", "abi3", "none"):
        install += ["--abi", abi]
    for platform in ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"):
        install += ["--platform", platform]
    done = subprocess.run([*pip, *install, *wanted], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


BUILD = """
import sys
from hatchling.build import build_sdist, build_wheel
print(build_wheel(sys.argv[1]), build_sdist(sys.argv[1]))
"""


@pytest.mark.build
def test_two_builds_are_equal_byte_for_byte(tmp_path):
    built = []
    for name in ("a", "b"):
        # Another folder, other times and other rights of the files: only what is in them counts.
        source, out = tmp_path / name / "source", tmp_path / name / "dist"
        for part in ("kwire_cli", "specs"):
            shutil.copytree(
                ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
            )
        (source / ".ci").mkdir()
        for part in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".ci/description.py"):
            shutil.copyfile(ROOT / part, source / part)
        out.mkdir()
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1760000000"}
        subprocess.run([sys.executable, "-c", BUILD, out], cwd=source, capture_output=True, check=True, env=environment)
        built.append({path.name: path.read_bytes() for path in out.iterdir()})
        assert len(built[-1]) == 2
    assert built[0] == built[1]


ALLOWED = re.compile(
    r"\b(Apache|BSD|MIT|ISC|PSF|Python Software Foundation|MPL-2\.0|Zlib|0BSD|Unlicense|CC0)\b", re.IGNORECASE
)
EXCEPTIONS = {
    "crc32c": "LGPL"
}  # used as it is, as a library of its own that anybody can replace, which the LGPL asks for; docs/architecture.md
FORBIDDEN = re.compile(r"\b(A?GPL|LGPL|SSPL|BUSL|Commons Clause|proprietary)", re.IGNORECASE)


def licence_of(name):
    """What a distribution says of its licence: an expression, classifiers, or in old metadata a text, of which the
    first line names it.
    """
    about = distribution(name).metadata
    classifiers = [
        each.rpartition("::")[2].strip() for each in about.get_all("Classifier", []) if each.startswith("License ::")
    ]
    stated = about.get("License-Expression") or ", ".join(classifiers) or (about.get("License") or "").strip()
    return stated.splitlines()[0] if stated else ""


def test_every_library_that_kwire_can_bring_in_has_a_licence_that_goes_with_its_own():
    extras = PROJECT["optional-dependencies"].values()
    asked = {re.match(r"[\w.-]+", line).group() for lines in extras for line in lines} - {"kwire"}
    names = requirements("kwire")
    for name in asked:
        if any(each.metadata["Name"].lower() == name.lower() for each in distributions()):
            names |= {name} | requirements(name)
    for name in sorted(names):
        licence = licence_of(name)
        if name in EXCEPTIONS:
            assert EXCEPTIONS[name] in licence, f"{name}: {licence} now: is it an exception still?"
            continue
        assert ALLOWED.search(licence), f"{name}: {licence or 'no licence is stated'}"
        assert not FORBIDDEN.search(licence), f"{name}: {licence}"
