"""`sfumato report`: write a report as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, input_options, output_option, same_rows_option, typed_command
from sfumato.cli.output import drawing, say_written
from sfumato.tables.errors import BadSetting, show

if TYPE_CHECKING:
    from sfumato.tables.model_inputs import InputOptions

NAMES_LINES = """\b
Files used in FOLDER, all optional:
  study.toml          questions             annotations.parquet  answers
  screening.csv       excluded annotators   beliefs.parquet      one distribution per annotator
  labels.parquet      people's soft labels  labels/              labels made in other ways
  original.csv        published labels      inputs.npz           images, texts, features
  counts.parquet      votes per class       plan.json            the plan
  runs/               trained models        shifted/ attacked/   the same on changed images
  scores.csv          scores of runs        differences.csv      comparisons of targets"""


@click.command(
    "report",
    help="Write a report as one HTML page: the study, agreement, uncertainty, labels, trained models, the plan "
    "and the source of every number.\n\nFOLDER contains files with their usual names, or runs as sfumato train writes "
    f"them. Options name single files. Sections without input are left out.\n\n{NAMES_LINES}",
)
@click.argument("folder", type=PATH, required=False)
@output_option("The page: .html.")
@click.option(
    "--people",
    type=PATH,
    help="What models are scored against: labels, counts, or single answers (Beliefs, Annotations).",
)
@click.option("--labels", multiple=True, metavar="[NAME=]FILE", help="SoftLabels made in another way; repeatable.")
@click.option("--study", type=PATH, help="The study: study.toml or its folder.")
@click.option("--annotations", type=PATH, help="Annotations: the answers.")
@click.option("--screening", type=PATH, help="Excluded annotators: output of sfumato screen.")
@click.option("--beliefs", type=PATH, help="Beliefs: one distribution per annotator and item.")
@click.option("--counts", type=PATH, help="Counts: votes per item and class, if annotators are unknown.")
@click.option("--original", type=PATH, help="Published labels: a table with item and label, or SoftLabels.")
@click.option("--inputs", type=PATH, help="The items: a folder of images, an npz, or a table with texts.")
@input_options
@click.option("--runs", type=PATH, help="Runs: output of sfumato train.")
@click.option("--shifted", type=PATH, help="Output of sfumato shift.")
@click.option("--attacked", type=PATH, help="Output of sfumato attack.")
@click.option("--scores", type=PATH, help="Scores: output of sfumato evaluate. Used instead of scoring the runs.")
@click.option("--comparison", type=PATH, help="Output of sfumato evaluate --differences.")
@click.option("--plan", type=PATH, help="Output of sfumato plan.")
@click.option("--title", default="", help="The title of the page.  [default: that of the study]")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of intervals for models.")
@click.option("--resamples", default=1000, show_default=True, help="Bootstrap resamples of items.")
@same_rows_option
def command(
    folder: Path | None,
    output: Path,
    people: Path | None,
    labels: tuple[str, ...],
    title: str,
    level: float,
    resamples: int,
    reading: InputOptions,
    **places: Path | None,
) -> None:
    from sfumato.reporting.chart_renderer import check_report_installed
    from sfumato.tables.bootstrap import check_resampling

    check_report_installed()
    check_resampling(level, resamples)
    named: dict[str, Any] = {part: path for part, path in places.items() if path is not None}
    if people is not None:
        named["people"] = people
    if labels:
        named["labels"] = _labels(labels, has_people=people is not None)
    if folder is not None and "runs" not in named and _holds_runs(folder):
        folder, named["runs"] = None, folder
    _check_output(output, named)
    from sfumato.reporting.report import Report
    from sfumato.reporting.report_inputs import ReportInputs

    with drawing() as draw:
        draw(0.0, "reading")
        evidence = ReportInputs.read(folder, reading=reading, **named)
        command_line = typed_command(click.get_current_context(), "sfumato report")
        report = Report(evidence, title, level, resamples, command=command_line)
        page = report.save(output, on_progress=draw)
    size = output.stat().st_size / 1e6
    summary = f"{len(page.sections)} sections, {len(page.charts)} figures, {size:.1f} MB"
    notes = list(evidence.notes)
    if evidence.runs is not None and evidence.people_labels is None:
        notes.append("no labels of people: models are not scored")
    say_written(output, summary, notes)


def _labels(texts: Sequence[str], *, has_people: bool) -> dict[str, Path]:
    """Labels by name; a file without a name uses its file name, unless it is the only one."""
    found: dict[str, Path] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        place = Path(path if equals else text)
        key = name if equals else "labels" if len(texts) == 1 and not has_people else place.stem
        if not key or not str(place) or (equals and not path) or key in found:
            used = " with a name that is already used" if key in found else ""
            fix = "use for example --labels mace=mace.parquet"
            raise BadSetting(f"--labels {show(text)}{used}", "a file, or NAME=FILE, each name once", fix)
        found[key] = place
    return found


def _holds_runs(folder: Path) -> bool:
    """Whether a folder contains runs instead of the files of a study."""
    from sfumato.evaluation.run_predictions import RUN

    return folder.is_dir() and ((folder / RUN).is_file() or any(folder.glob(f"*/{RUN}")))


def _check_output(output: Path, named: dict[str, Any]) -> None:
    from sfumato.tables.files.atomic_write import check_place

    if output.suffix.lower() not in (".html", ".htm"):
        found, fix = f"{show(output.name)} for the page", f"use -o {output.stem or 'report'}.html"
        raise BadSetting(found, "a name that ends in .html", fix, "unknown-format", output)
    place = check_place(output).absolute()
    for part, path in named.items():
        if isinstance(path, Path) and path.absolute() == place:
            found = f"the same file, {show(output.name)}, for --{part} and -o"
            raise BadSetting(found, "a different file for the page", "choose another file with -o")
