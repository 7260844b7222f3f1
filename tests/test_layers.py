"""Imports point one way: a module imports only from its own layer or from those to its left."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sfumato

ROOT = Path(sfumato.__file__).parent

LAYERS = (
    {"tables"},
    {"jobs"},
    {"study"},
    {"importers"},
    {"store"},
    {"elicitation"},
    {"labeling"},
    {"aggregation"},
    {"training", "evaluation"},
    {"planning"},
    {"recruitment"},
    {"reporting"},
    {"server", "cli", "api", "api_arguments"},
)  # fmt: skip
HOME = {
    "torch": {"training"},
    "starlette": {"web", "server"},
    "uvicorn": {"web", "server"},
    "sqlalchemy": {"store", "elicitation", "recruitment", "web", "server"},
}
"""Heavy packages, and the parts that may import them."""
APART = {"training": "evaluation", "evaluation": "training"}
"""Neighbours that do not know each other: evaluation compares tables, from any source."""


def layer_of(name: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if name in layer)


def imports_of(source: str) -> set[str]:
    """The top-level parts of our package that a module's source imports, type-checking imports left out."""
    found = set()
    for node in ast.walk(_without_type_checking(ast.parse(source))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sfumato."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "sfumato":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("sfumato.")}
    return found


def _without_type_checking(tree: ast.Module) -> ast.Module:
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
    ]
    return tree


def wrong_imports(part: str, source: str) -> set[str]:
    """What `source`, a module of `part`, imports from its right, or from a neighbour it does not know."""
    known = set().union(*LAYERS)
    imported = imports_of(source) & known
    return {name for name in imported if layer_of(name) > layer_of(part) or name == APART.get(part)}


def modules() -> list[Path]:
    doors = (ROOT / "__init__.py", ROOT / "__main__.py")
    return [path for path in sorted(ROOT.rglob("*.py")) if path not in doors]


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_left(path: Path) -> None:
    assert wrong_imports(part_of(path), path.read_text()) == set()


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in modules()} == set().union(*LAYERS)


def test_no_heavy_imports_outside_their_folder() -> None:
    for path in modules():
        away = {package for package, homes in HOME.items() if part_of(path) not in homes}
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not {name.split(".")[0] for name in names} & away, path


def test_a_wrong_import_is_seen() -> None:
    assert wrong_imports("tables", "from sfumato.cli.options import PATH") == {"cli"}
    assert wrong_imports("tables", "def f():\n    from sfumato.cli import options") == {"cli"}
    assert wrong_imports("jobs", "import sfumato.cli.options") == {"cli"}
    assert wrong_imports("cli", "from sfumato.tables.files import Rows") == set()
    left, right = next(each for each in APART.items() if set(each) <= set().union(*LAYERS))
    assert wrong_imports(left, f"from sfumato.{right} import score") == {right}
