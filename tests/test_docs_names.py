"""What the documents name is there: commands, options, Python names, files, links, anchors, figures, words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from sfumato.cli import COMMANDS, group

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
over_pages = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)

ELSEWHERE = {"--no-deps", "--write", "--nproc-per-node", "--only"}
"""Options in the documents that are of pip, of torchrun, or of our benchmarks."""
NO_NAMES = {
    "sfumato.classes",
    "sfumato.ordered",
    "sfumato.estimand",
    "sfumato.made_by",
    "sfumato.row_numbers_of",
    "sfumato.json",
    "sfumato.commands",
}
"""Keys of metadata, a file and an entry-point group, called like modules."""
OTHERS = {
    "DataLoader",
    "TensorDataset",
    "Sequence",
    "Mine",
    "Poisson",
    "List",
    "ClassLabel",
    "LogisticRegression",
    "Pipeline",
}
"""Classes in the documents that are not ours."""
WORDS = (
    "study", "item", "class", "annotator", "kind", "answer", "belief", "soft label", "aggregator", "learner", "metric",
    "score", "plan", "target", "stratum", "condition", "lease", "quota", "doubt within", "doubt between", "labeler",
    "Annotations", "Beliefs", "SoftLabels", "index", "run", "seed", "floor", "pilot", "goal", "audit", "payload",
)  # fmt: skip
"""One word a concept: each has its line in the glossary."""
OPTION = re.compile(r"(?:^|[\s`\[]|(?<!var)\()(--[a-z]+(?:-[a-z]+)*)(?![a-z-])")


def prose(path: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def code(path: Path) -> list[str]:
    """Everything a reader might type: what stands between backquotes, and the lines of blocks of commands."""
    blocks = re.findall(r"^```(?:sh|text)?\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [*re.findall(r"`([^`\n]+)`", prose(path)), *(line for block in blocks for line in block.splitlines())]


@cache
def options_of(*names: str) -> frozenset[str]:
    """The options of a command, of one of a group's, or of `sfumato` itself."""
    command: click.Command = group
    for name in names:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"no command {' '.join(names)}"
        command = found
    own = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return frozenset(own | {"--help", "--json", "--version"})


@cache
def commands() -> dict[tuple[str, ...], frozenset[str]]:
    """Every command there is, with its options."""
    found: dict[tuple[str, ...], frozenset[str]] = {(): options_of()}
    for name in group.list_commands(click.Context(group)):
        found[(name,)] = options_of(name)
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            for part in command.list_commands(click.Context(command)):
                found[(name, part)] = options_of(name, part)
    return found


def asked_for(line: str) -> tuple[tuple[str, ...], str] | None:
    """The command that a line calls, and the rest of the line; None where it calls none of ours."""
    found = re.match(r"\s*(?:\$ )?(?:\.venv/bin/)?sfumato ([a-z]+)(?: ([a-z]+))?(?=[\s\]]|$)(.*)", line)
    if not found:
        return None
    name, part = found[1], found[2]
    if part and (name, part) in commands():
        return (name, part), found[3]
    return (name,), found[3]


@over_pages
def test_commands_and_their_options_exist(path: Path) -> None:
    for line in code(path):
        called = asked_for(line)
        if called is None:
            continue
        command, rest = called
        assert command in commands(), line
        rest = rest.split(" | ")[0].split("#")[0]
        # `sfumato plan` with options and no question decides; a group's own options count for its commands too.
        known = commands()[command] | commands()[command[:1]]
        assert [each for each in OPTION.findall(rest) if each not in known | ELSEWHERE] == [], line


@over_pages
def test_options_exist_somewhere(path: Path) -> None:
    every = frozenset().union(*commands().values()) | ELSEWHERE
    assert [each for each in OPTION.findall(path.read_text(encoding="utf-8")) if each not in every] == []


def test_every_command_is_documented() -> None:
    everything = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [name for name in COMMANDS if f"sfumato {name}" not in everything] == []


@over_pages
def test_scripts_and_their_parts_exist(path: Path) -> None:
    for line in code(path):
        for script, rest in re.findall(r"python ((?:bench|docs|examples)/\w+\.py)((?: [\w./=-]+)*)", line):
            source = (ROOT / script).read_text(encoding="utf-8")
            # Parts that are files of their own, such as the rows of bench/coverage.py.
            parts = {
                each.stem for each in (ROOT / script).with_suffix("").parent.glob(f"{Path(script).stem}_rows/*.py")
            }
            for word in rest.split():
                if re.fullmatch(r"--[a-z-]+|[a-z-]+", word):
                    assert f'"{word}"' in source or word in parts, line


@over_pages
def test_make_has_the_targets(path: Path) -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for line in code(path):
        if found := re.match(r"make ([a-z]+)", line):
            assert found[1] in targets, line


def named(dotted: str) -> Any:
    """What `sfumato.x.y` is; raises where there is no such module or name."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:n]))
        except ModuleNotFoundError as error:
            if not ".".join(parts[:n]).startswith(str(error.name)):
                raise
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return found
    raise AssertionError(dotted)


@over_pages
def test_python_names_exist(path: Path) -> None:
    for dotted in re.findall(r"`(sfumato(?:\.\w+)+)", prose(path)):
        if dotted not in NO_NAMES:
            assert named(dotted) is not None


@cache
def classes() -> dict[str, set[str]]:
    """Every class of the package, and what its body and its functions name."""
    found: dict[str, set[str]] = {}
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "papers" / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                own = found.setdefault(node.name, set())
                for each in node.body:
                    own |= {getattr(each, "name", ""), getattr(getattr(each, "target", None), "id", "")}
    return found


@over_pages
def test_classes_and_their_attributes_exist(path: Path) -> None:
    for name, attribute in re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]*)*)(?:\.(\w+))?(?=[`(])", prose(path)):
        if name not in OTHERS:
            assert name in classes(), name
            assert not attribute or attribute in classes()[name], f"{name}.{attribute}"


@over_pages
def test_files_exist(path: Path) -> None:
    homes = {each.name for each in (ROOT / "src" / "sfumato").iterdir() if each.is_dir()} - {"demo", "plan"}
    for named_path in re.findall(r"`([a-z_]+/[\w./-]+)`", prose(path)):
        first = named_path.split("/")[0]
        if first in ("tests", "bench", "examples", "docs") and "*" not in named_path:
            assert (ROOT / named_path).exists(), named_path
        elif first in homes and "agrees" not in named_path:
            assert (ROOT / "src" / "sfumato" / named_path).exists(), named_path


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", prose(path))
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", each).strip().lower() for each in headings]
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in plain}


@over_pages
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        page = path.parent / target if target else path
        assert page.exists(), link
        assert not anchor or anchor in anchors(page), link


def test_figures_stand_on_the_pages_they_link_to() -> None:
    """In tables whose last column links to a page, every figure of the row is on that page.

    The numbers on asvs.md are those of requirements.
    """
    checked = 0
    for path in PAGES:
        if path.name == "asvs.md":
            continue
        for row in re.findall(r"(?m)^\| (.+) \| \[\w+\]\(((?:docs/)?[\w-]+\.md)(?:#[\w-]+)?\) \|$", prose(path)):
            page = (path.parent / row[1]).read_text(encoding="utf-8")
            cells = row[0].split(" | ")
            figures = re.findall(r"\d*\.\d+|\d{1,3}(?:,\d{3})+|\de-\d+", " ".join(cells[:-1]))
            assert figures, row
            for figure in figures:
                assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", page), f"{path.name}: {figure} in {row[0]}"
                checked += 1
    assert checked > 40


def test_the_glossary_has_every_word() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    lines = re.findall(r"(?m)^- \*\*([^*]+)\*\*(?: \([^)]*\))?: (.+)$", text)
    assert [word for word in WORDS if word not in {each for each, _ in lines}] == []
    assert [word for word, said in lines if len(said) < 25] == []


def test_pictures_are_small() -> None:
    assert [path.name for path in (ROOT / "docs" / "images").iterdir() if path.stat().st_size > 200_000] == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (test_commands_and_their_options_exist, "`sfumato agregate beliefs.parquet`"),
        (test_commands_and_their_options_exist, "`sfumato aggregate b.parquet --seeds 3`"),
        (test_commands_and_their_options_exist, "```sh\nsfumato plan annotators --pilt p.csv\n```"),
        (test_options_exist_somewhere, "say `--no-such-thing`"),
        (test_scripts_and_their_parts_exist, "`python bench/train.py cifra`"),
        (test_scripts_and_their_parts_exist, "`python bench/evidence.py --olny people`"),
        (test_make_has_the_targets, "`make tea`"),
        (test_python_names_exist, "`sfumato.aggregation.AGGREGATOR`"),
        (test_python_names_exist, "`sfumato.agregate.Mean`"),
        (test_classes_and_their_attributes_exist, "`SoftLabel` is a table"),
        (test_classes_and_their_attributes_exist, "`SoftLabels.targets` says which"),
        (test_files_exist, "in `tests/contracts/test_kind.py`"),
        (test_links_lead_somewhere, "[there](nowhere.md)"),
        (test_links_lead_somewhere, "# Here\n\n[there](#there)"),
    ],
)
def test_what_is_not_there_is_found(check: Callable[[Path], None], text: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(text)
    with pytest.raises((AssertionError, AttributeError, FileNotFoundError)):
        check(tmp_path / "page.md")
