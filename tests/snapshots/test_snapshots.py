"""What users and other programs rely on, recorded: commands, options, study keys, HTTP API, table files, public names.

A change to a recorded file must be on purpose: run `SFUMATO_SNAPSHOTS=write pytest tests/snapshots` and commit the
difference. Help texts and messages are not recorded here; they may be reworded freely.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato
from sfumato import Annotations, Beliefs, Counts, SoftLabels
from sfumato.cli import group
from sfumato.server.openapi import document
from sfumato.study.study_file import draft_of

HERE = Path(__file__).parent
TABLES = (
    "", "[items]", "[pages]", "[people]", "[limits]", "[privacy]", "[pay]", "[quality]", "[adaptive]",
    "[[classes]]", "[[practice]]", "[[checks]]", "[[comprehension]]",
)  # fmt: skip


def compare(name: str, text: str) -> None:
    """Fails unless `text` is what was recorded under `name`; writes it instead when asked to."""
    recorded = HERE / name
    if os.environ.get("SFUMATO_SNAPSHOTS") == "write":
        recorded.write_text(text)
    assert text == recorded.read_text(), f"{name} changed; if on purpose: SFUMATO_SNAPSHOTS=write pytest {HERE}"


def commands(command: click.Command, path: str, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command below `command`, with its full name."""
    yield path, command
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, f"{path} {name}", context)


def parameter_line(parameter: click.Parameter) -> str:
    """One option or argument with everything that decides what it accepts."""
    names = " ".join([*parameter.opts, *parameter.secondary_opts])
    kind = parameter.type
    accepts = "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else kind.name
    flag = " flag" if getattr(parameter, "is_flag", False) else ""
    facts = f"{' required' if parameter.required else ''}{' multiple' if parameter.multiple else ''}"
    default = parameter.default
    shown = f" default={default!r}" if isinstance(default, (str, int, float, bool, tuple)) else ""
    return f"  {names} <{accepts}>{flag}{facts}{shown} nargs={parameter.nargs}"


def test_commands_and_options() -> None:
    lines = []
    for path, command in commands(group, "sfumato", click.Context(group)):
        lines.append(path)
        lines += sorted(parameter_line(parameter) for parameter in command.params)
    compare("options.txt", "\n".join(lines) + "\n")


def test_study_keys(tmp_path: Path) -> None:
    lines = []
    for table in TABLES:
        text = 'title = "A study"\n' + (table or 'classes = ["a", "b"]') + "\nnot_a_key = 1\n"
        mistakes = draft_of(text, tmp_path / "study.toml").mistakes.found
        (expected,) = [mistake.expected for mistake in mistakes if "not_a_key" in mistake.found]
        lines.append(f"{table or 'top'}: {', '.join(sorted(expected.partition(': ')[2].split(', ')))}")
    compare("study_keys.txt", "\n".join(lines) + "\n")


def test_http_api() -> None:
    api = document()
    shape = {
        path: {
            verb: {
                "replies": sorted(operation["responses"]),
                "parameters": sorted(each["name"] for each in operation.get("parameters", ())),
                "body": operation.get("requestBody", {}).get("content"),
            }
            for verb, operation in operations.items()
            if isinstance(operation, dict) and "responses" in operation
        }
        for path, operations in api["paths"].items()
    }
    text = json.dumps({"paths": shape, "schemas": api["components"]["schemas"]}, indent=1, sort_keys=True)
    compare("http_api.json", text + "\n")


def test_table_files(tmp_path: Path) -> None:
    columns = {"item": ["1"], "annotator": ["a"], "kind": ["choice/1"], "payload": ['{"class": "cat"}']}
    annotations = Annotations.from_arrow(pa.table(columns), classes=["cat", "dog"])
    beliefs = Beliefs.from_votes(item=["1", "1"], annotator=["a", "b"], label=["cat", "dog"])
    tables = {
        "annotations": annotations,
        "beliefs": beliefs,
        "counts": Counts.of(beliefs),
        "soft_labels": SoftLabels.from_numpy(["1"], [[0.5, 0.5]], ["cat", "dog"]),
        "doubt": beliefs.doubt(),
    }
    lines = []
    for name, table in tables.items():
        table.write(tmp_path / f"{name}.parquet")
        table.write(tmp_path / f"{name}.csv")
        schema = pq.read_schema(tmp_path / f"{name}.parquet")
        metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        metadata.pop("ARROW:schema", None)
        lines += [name, *(f"  {field.name}: {field.type}" for field in schema), f"  {sorted(metadata.items())}"]
        lines += [f"  csv: {(tmp_path / f'{name}.csv').read_text().splitlines()[0]}"]
    compare("table_files.txt", "\n".join(lines) + "\n")


def test_public_names() -> None:
    compare("public_names.txt", "\n".join(sorted(sfumato.__all__)) + "\n")
