"""Lists of a family's members for help texts: name, first docstring line and settings of every class.

Parses the source instead of importing it, because importing a family loads NumPy and help must be quick.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Member:
    """One class of a family, as its source states it."""

    name: str
    summary: str
    settings: tuple[str, ...]
    constants: dict[str, str]
    """The source of its other class attributes."""


def family_members(file: str, family: str) -> list[Member]:
    """The members of the tuple `family` in a file of the package, in its order."""
    tree = ast.parse((PACKAGE / file).read_text("utf-8"))
    order = [element.id for element in _tuple_named(family, tree).elts if isinstance(element, ast.Name)]
    classes = dict(_classes_of(tree))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and {each.name for each in node.names} & set(order):
            source = PACKAGE.parent / f"{node.module.replace('.', '/')}.py"
            classes |= _classes_of(ast.parse(source.read_text("utf-8")))
    return [_member(classes[name], classes) for name in order]


class FamilyCommand(click.Command):
    """A command whose help lists the members of a family under headings, computed only when help is shown."""

    def __init__(self, *arguments: Any, groups: Callable[[], dict[str, list[Member]]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._groups = groups

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        known = {parameter.name for parameter in self.params}
        for heading, members in self._groups().items():
            with formatter.section(heading):
                formatter.write_dl([(each.name, _summary_with_options(each, known)) for each in members], col_max=24)


def _summary_with_options(member: Member, known: Container[str]) -> str:
    """The summary, and those settings that are options of the command."""
    options = [f"--{setting.replace('_', '-')}" for setting in member.settings if setting in known]
    return f"{member.summary}; {' '.join(options)}" if options else member.summary


def _tuple_named(family: str, tree: ast.Module) -> ast.Tuple:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == family:
            assert isinstance(node.value, ast.Tuple)
            return node.value
    raise LookupError(family)


def _classes_of(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _member(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> Member:
    bases = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
    settings, constants = [], {}
    for statement in [line for each in (*bases, node) for line in each.body]:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if not ast.unparse(statement.annotation).startswith("ClassVar"):
                settings.append(statement.target.id)
            elif statement.value is not None:
                constants[statement.target.id] = ast.unparse(statement.value)
    summary = (ast.get_docstring(node) or "").splitlines()[0].removesuffix(".")
    return Member(ast.literal_eval(constants["name"]), summary, tuple(settings), constants)
