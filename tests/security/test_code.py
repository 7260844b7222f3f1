"""S14, S17, S18, S21, S23, S28, S34: what our own code must not do, looked for in every file of it.

Each rule is tried on a few lines that break it first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import sfumato
from sfumato.importers.cifar_n import ALLOWED, _ArrayUnpickler

PACKAGE = Path(sfumato.__file__).parent
WORTH_READING = re.compile(
    r"execut|exec_|text\(|DDL|pickle|dill|yaml|marshal|shelve|joblib|(?<!\.)eval\(|exec\(|compile\(|__import__|os\.|shell=|torch\.load"
)
"""Without any of these words a file can break no rule that is for all of them; reading them all takes long."""
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if WORTH_READING.search(path.read_text("utf-8"))]
SERVER = sorted(p for part in ("server", "elicitation", "store", "recruitment") for p in (PACKAGE / part).rglob("*.py"))
RAW_SQL = ("text", "exec_driver_sql", "DDL", "executescript")
SQL_OF_OURS = {
    "store/database.py": {"check_durable", "_prepare_sqlite"},
    "store/changes.py": {"_insert", "update_rows"},
    "store/migrations/versions/v0001_first_tables.py": {"_only_append"},
    "store/migrations/versions/v0003_chain_and_platforms.py": {"_chain"},
}
"""Where SQL text is built, only from names in our own code; every value is a parameter."""
UNSAFE = ("pickle", "cPickle", "dill", "shelve", "marshal", "joblib", "cloudpickle", "yaml", "jsonpickle")
PICKLED = "importers/cifar_n.py"
"""The published files of CIFAR-N are pickles; their reader refuses every name but those of arrays."""
NETWORK = ("urllib.request", "http.client", "requests", "httpx", "aiohttp", "ftplib", "smtplib")
MAY_CALL = ("recruitment/platform_api.py", "server/browser_client.py")
"""Who asks another machine: the platform named in the study file, by an address of our own; and simulated people."""

Nodes = Sequence[ast.AST]
Rule = Callable[[Nodes], Iterator[int]]
KEPT = (ast.Call, ast.Import, ast.ImportFrom, ast.Attribute, ast.FunctionDef, ast.AsyncFunctionDef)


def name_of(node: ast.AST) -> str:
    """`a.b.c` of an attribute or a name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(nodes: Nodes) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{each.name}") for each in node.names)


def calls(nodes: Nodes) -> Iterator[ast.Call]:
    return (node for node in nodes if isinstance(node, ast.Call))


def built_sql(nodes: Nodes) -> Iterator[int]:
    """Statements in words that are no constant."""
    for call in calls(nodes):
        last = name_of(call.func).rpartition(".")[2]
        is_raw = last in RAW_SQL and (last != "text" or name_of(call.func).startswith(("sa.", "sqlalchemy.")))
        is_text = last == "execute" and call.args and isinstance(call.args[0], (ast.JoinedStr, ast.BinOp))
        if (is_raw or is_text) and call.args and not isinstance(call.args[0], ast.Constant):
            yield call.lineno


def unsafe_reading(nodes: Nodes) -> Iterator[int]:
    """Whatever may run a program that came in a file."""
    yield from (line for line, name in imported(nodes) if name.partition(".")[0] in UNSAFE)
    for call in calls(nodes):
        called, last = name_of(call.func), name_of(call.func).rpartition(".")[2]
        given = {each.arg: each.value for each in call.keywords}
        pickled = given.get("allow_pickle")
        if isinstance(pickled, ast.Constant) and pickled.value:
            yield call.lineno
        if called in ("torch.load", "yaml.load", "yaml.unsafe_load", "pandas.read_pickle", "pd.read_pickle"):
            yield call.lineno
        if called in ("eval", "exec", "compile", "__import__", "os.system", "os.popen"):
            yield call.lineno
        shell = given.get("shell")
        if last in ("run", "Popen", "call", "check_output") and isinstance(shell, ast.Constant) and shell.value:
            yield call.lineno


def networking(nodes: Nodes) -> Iterator[int]:
    """Asking other machines."""
    yield from (line for line, name in imported(nodes) if name in NETWORK)
    yield from (call.lineno for call in calls(nodes) if name_of(call.func).endswith(("urlopen", "create_connection")))


def unpacking(nodes: Nodes) -> Iterator[int]:
    """Writing what an archive says to where it says."""
    yield from (line for line, name in imported(nodes) if name in ("zipfile", "tarfile", "shutil.unpack_archive"))
    yield from (call.lineno for call in calls(nodes) if name_of(call.func).endswith(("extractall", "unpack_archive")))


def reading_forms(nodes: Nodes) -> Iterator[int]:
    """Uploads: forms and the files in them."""
    yield from (line for line, name in imported(nodes) if "UploadFile" in name or "multipart" in name)
    yield from (call.lineno for call in calls(nodes) if name_of(call.func).endswith(("request.form", ".form")))


def full_address(nodes: Nodes) -> Iterator[int]:
    """The address as the request gives it, host and all, which anybody may make up."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("url", "base_url") and name_of(node.value) == "request":
            yield node.lineno


def within(nodes: Nodes, line: int) -> str:
    """The function that contains a line."""
    found = [
        node
        for node in nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return found[-1].name if found else ""


@cache
def nodes_of(file: Path) -> Nodes:
    return [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, KEPT)]


def broken(rule: Rule, files: list[Path]) -> list[str]:
    return [
        f"{file.relative_to(PACKAGE).as_posix()}:{line} in {within(nodes_of(file), line)}"
        for file in files
        for line in rule(nodes_of(file))
    ]


CONTROLS: dict[str, tuple[Rule, tuple[str, ...]]] = {
    "sql": (
        built_sql,
        (
            "connection.exec_driver_sql(f'SELECT * FROM {table}')",
            "sa.text('SELECT ' + name)",
            "connection.execute('SELECT %s' % name)",
            "cursor.execute(f'DELETE {x}')",
            "sa.text(query)",
        ),
    ),
    "reading": (
        unsafe_reading,
        (
            "import pickle",
            "from dill import loads",
            "np.load(file, allow_pickle=True)",
            "torch.load(file)",
            "yaml.load(file)",
            "eval(text)",
            "subprocess.run(text, shell=True)",
            "os.system(text)",
        ),
    ),
    "network": (networking, ("import urllib.request", "from urllib.request import urlopen", "import httpx")),
    "archives": (unpacking, ("import zipfile", "from shutil import unpack_archive", "archive.extractall(folder)")),
    "forms": (reading_forms, ("await request.form()", "from starlette.datastructures import UploadFile")),
    "address": (full_address, ("request.url.path", "str(request.base_url)")),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_each_rule_finds_what_breaks_it(name: str) -> None:
    rule, lines = CONTROLS[name]
    assert [line for line in lines if not list(rule(list(ast.walk(ast.parse(line)))))] == []


def test_statements_are_not_put_together() -> None:
    found = broken(built_sql, FILES)
    allowed = [f"{file}:" for file in SQL_OF_OURS]
    outside = [each for each in found if not each.startswith(tuple(allowed))]
    assert outside == []
    for each in found:
        file, _, function = each.partition(":")[0], *each.partition(" in ")[1:]
        assert function in SQL_OF_OURS[file], each


def test_nothing_that_is_read_can_run() -> None:
    assert [each for each in broken(unsafe_reading, FILES) if not each.startswith(f"{PICKLED}:")] == []


def test_the_one_reader_of_pickles_allows_names_of_arrays_only() -> None:
    nodes = nodes_of(PACKAGE / PICKLED)
    used = {each.attr for each in nodes if isinstance(each, ast.Attribute) and name_of(each.value) == "pickle"}
    assert used == {"Unpickler", "UnpicklingError"}
    assert "find_class" in vars(_ArrayUnpickler)
    assert {module for module, _ in ALLOWED} == {"numpy", "_codecs", "numpy.core.multiarray", "numpy._core.multiarray"}
    assert {name for _, name in ALLOWED} == {"ndarray", "dtype", "encode", "_reconstruct", "scalar"}


def test_the_server_fetches_nothing_that_anybody_names() -> None:
    elsewhere = [each for each in broken(networking, SERVER) if not each.startswith(MAY_CALL)]
    assert elsewhere == []


def test_the_server_unpacks_no_archive() -> None:
    assert broken(unpacking, SERVER) == []


def test_the_server_takes_no_upload() -> None:
    assert broken(reading_forms, SERVER) == []


def test_nobody_is_judged_by_an_address_they_made_up() -> None:
    assert broken(full_address, SERVER) == []
