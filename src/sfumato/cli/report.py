"""`sfumato report`: everything that is known of a study as one page that opens from disk."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sfumato.cli.options import PATH, output_option
from sfumato.cli.output import drawing, say_written

NAMES_LINES = """\b
What is looked for in FOLDER, all of it optional:
  study.toml          the question          annotations.parquet  answers
  screening.csv       who was set aside     beliefs.parquet      what each person believes
  labels.parquet      how people judge      labels/              labels made in other ways
  original.csv        labels as published   inputs.npz           pictures or texts
  runs/               networks              shifted/ attacked/   the same on changed pictures
  scores.csv          scores of runs        differences.csv      and their comparison
  plan.json           the plan"""


@click.command(
    "report",
    help="Write everything that is known of a study as one HTML page that opens from disk: what people were asked, how "
    "far they agree, what networks learnt from them, what to ask next, and where every number comes from.\n\nFOLDER "
    "holds files under their usual names, or is a folder of runs as sfumato train writes it; single files can be "
    f"named too. What is missing is left out.\n\n{NAMES_LINES}",
)
@click.argument("folder", type=PATH, required=False)
@output_option("Where the page goes: .html.")
@click.option("--people", type=PATH, help="SoftLabels: how people judge; networks are scored against them.")
@click.option("--labels", multiple=True, metavar="[NAME=]FILE", help="SoftLabels made in another way; several times.")
@click.option("--study", type=PATH, help="The study: study.toml or its folder.")
@click.option("--annotations", type=PATH, help="Annotations: what people answered.")
@click.option("--screening", type=PATH, help="Who was set aside, as sfumato screen writes it.")
@click.option("--beliefs", type=PATH, help="Beliefs: what every annotator believes.")
@click.option("--original", type=PATH, help="Labels as published: a table with item and label, or SoftLabels.")
@click.option("--inputs", type=PATH, help="An npz with images or texts of the items.")
@click.option("--runs", type=PATH, help="A folder of sfumato train.")
@click.option("--shifted", type=PATH, help="A folder of sfumato shift.")
@click.option("--attacked", type=PATH, help="A folder of sfumato attack.")
@click.option("--scores", type=PATH, help="Scores as sfumato evaluate writes them, where the runs are elsewhere.")
@click.option("--comparison", type=PATH, help="Differences as sfumato evaluate --differences writes them.")
@click.option("--plan", type=PATH, help="A plan as sfumato plan writes it.")
@click.option("--title", default="", help="The page's title.  [default: the study's]")
@click.option("--level", default=0.95, show_default=True, help="How sure intervals about networks are.")
@click.option("--resamples", default=500, show_default=True, help="How often items are drawn anew for them.")
def command(
    folder: Path | None,
    output: Path,
    people: Path | None,
    labels: tuple[str, ...],
    title: str,
    level: float,
    resamples: int,
    **places: Path | None,
) -> None:
    from sfumato.reporting.vega import check_report_installed
    from sfumato.tables.bootstrap import check_resampling

    check_report_installed()
    check_resampling(level, resamples)
    named: dict[str, Any] = {part: path for part, path in places.items() if path is not None}
    if people is not None or labels:
        named["labels"] = _labels(people, labels)
    if folder is not None and "runs" not in named and _holds_runs(folder):
        folder, named["runs"] = None, folder
    _check_output(output, named)
    from sfumato.reporting.report import Report
    from sfumato.reporting.report_inputs import ReportInputs

    with drawing() as draw:
        draw(0.0, "reading")
        evidence = ReportInputs.read(folder, **named)
        asked = _asked(click.get_current_context())
        report = Report(evidence, title, level, resamples, command=asked)
        page = report.write(output, on_progress=draw)
    size = output.stat().st_size / 1e6
    what = f"{len(page.sections)} sections, {len(page.charts)} figures, {size:.1f} MB"
    say_written(
        output, what, [] if evidence.main_labels is not None else ["no labels: nothing is scored against people"]
    )


def _labels(people: Path | None, others: Sequence[str]) -> dict[str, Path]:
    """Labels by name, those of `people` first; a file that is given no name has its own."""
    from sfumato.tables.errors import BadSetting, show

    found = {} if people is None else {"labels": people}
    for text in others:
        name, equals, path = text.partition("=")
        place = Path(path if equals else text)
        key = name if equals else "labels" if len(others) == 1 and people is None else place.stem
        if not key or not str(place) or (equals and not path) or key in found:
            raise BadSetting(
                f"found --labels {show(text)}{' with a name that is taken' if key in found else ''}",
                expected="a file, or NAME=FILE, each name once",
                fix="write for example --labels mace=mace.parquet",
                code="bad-setting",
            )
        found[key] = place
    return found


def _holds_runs(folder: Path) -> bool:
    """Whether a folder is one of runs, and not one with the files of a study."""
    from sfumato.evaluation.run_predictions import RUN

    return folder.is_dir() and ((folder / RUN).is_file() or any(folder.glob(f"*/{RUN}")))


def _check_output(output: Path, named: dict[str, Any]) -> None:
    from sfumato.tables.errors import BadSetting, ErrorLocation, show
    from sfumato.tables.files import check_place

    if output.suffix.lower() not in (".html", ".htm"):
        raise BadSetting(
            f"found {show(output.name)} for the page",
            expected="a name that ends in .html",
            fix=f"write -o {output.stem or 'report'}.html",
            code="unknown-format",
            where=ErrorLocation(str(output)),
        )
    place = check_place(output).absolute()
    for part, path in named.items():
        if isinstance(path, Path) and path.absolute() == place:
            raise BadSetting(
                f"found the same file, {show(output.name)}, for --{part} and -o",
                expected="a file of its own for the page",
                fix="choose another with -o",
                code="bad-setting",
            )


def _asked(context: click.Context) -> str:
    """The command as it can be given again, options left alone left out."""
    words = ["sfumato", "report"]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if value in (None, (), "") or value == parameter.get_default(context):
            continue
        flag = [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
        for each in value if isinstance(value, tuple) else (value,):
            words += [*flag, str(each)]
    return shlex.join(words)
