"""Options of `sfumato evaluate`: checks of combinations and files, and metrics and strata from their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.options import check_not_negative, check_one_given, check_outputs
from sfumato.tables.errors import BadSetting, show
from sfumato.tables.setting_checks import between_0_and_1, one_of
from sfumato.tables.strategies import split_choices

if TYPE_CHECKING:
    from sfumato.evaluation.metric import Metric
    from sfumato.evaluation.strata import Stratification
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True)
class EvaluateOptions:
    """The options that are settings."""

    any_estimand: bool
    common: bool
    level: float
    resamples: int
    seed: int
    baseline: str | None
    correction: str | None
    family: str | None
    differences: Path | None
    table: Path | None
    mode_shift: Path | None
    cross_label: Path | None
    against: tuple[str, ...]
    sets: float | None
    sets_table: Path | None
    sets_items: Path | None

    def check(self, predicted: Mapping[str, Path], runs: Path | None, original: Path | None) -> None:
        """Raise unless the options fit together."""
        from sfumato.evaluation.comparison import FAMILIES
        from sfumato.evaluation.paired_tests import CORRECTIONS
        from sfumato.tables.bootstrap import check_resampling

        check_not_negative("seed", self.seed)
        check_resampling(self.level, self.resamples)
        check_one_given(predicted=predicted or None, runs=runs)
        for option in ("baseline", "correction", "family", "differences", "table", "mode_shift", "cross_label"):
            if len(predicted) == 1 and getattr(self, option) is not None:
                name = option.replace("_", "-")
                fix = "give --predicted several times, or --runs, a folder of runs or with one table per target"
                raise BadSetting(f"--{name} together with one --predicted", f"runs to compare, for --{name}", fix)
        if self.mode_shift and original is None:
            expected, fix = "the original label of every item", "give --original, a table with item and label"
            raise BadSetting("--mode-shift without --original", expected, fix, "no-original")
        if self.against and self.cross_label is None:
            raise BadSetting("--against without --cross-label", "a file for the table", "give --cross-label too")
        self._check_sets(predicted)
        one_of("correction", self.correction or "holm", CORRECTIONS)
        one_of("family", self.family or "metric", FAMILIES)

    def _check_sets(self, predicted: Mapping[str, Path]) -> None:
        """Raise unless the options of prediction sets fit together."""
        if self.sets is None:
            for option, path in (("--sets-table", self.sets_table), ("--sets-items", self.sets_items)):
                if path:
                    raise BadSetting(f"{option} without --sets", "the wanted coverage", "give --sets 0.9 too")
            return
        between_0_and_1("sets", self.sets)
        if not predicted:
            fix = "give the predictions of one run with --predicted"
            raise BadSetting("--sets together with --runs", "files of predictions, for --sets", fix)
        if self.sets_items and len(predicted) > 1:
            fix = "write the sets of one model at a time"
            raise BadSetting(f"--sets-items with {len(predicted)} models", "one --predicted", fix)


@dataclass(frozen=True)
class EvaluateInputs:
    """The labels that predictions are scored against, and by which metrics and strata."""

    people: SoftLabels | Beliefs
    original: SoftLabels | None
    metrics: Sequence[Metric]
    strata: Sequence[Stratification]

    @property
    def labels(self) -> SoftLabels:
        """People's labels; of single answers, their mean."""
        from sfumato.evaluation.people_jackknife import PeopleLabels

        return PeopleLabels.of(self.people).labels

    @property
    def n_people(self) -> int:
        """The people whose single answers are known; 0 if only labels are."""
        annotators = getattr(self.people, "annotator", None)
        return 0 if annotators is None else len(annotators.names)


def metrics_from_text(names: str | None) -> list[Metric]:
    """The metrics of `ece:bins=10,brier`."""
    from sfumato.evaluation.metric_scores import metric_from_name

    return [metric_from_name(text) for text in split_choices(names or "")]


def strata_from_text(names: str | None) -> list[Stratification]:
    """The strata of `agree,entropy:quantiles=4,mine.csv`."""
    from sfumato.evaluation.strata import GivenStrata, stratification_from_name

    chosen: list[Stratification] = []
    for text in split_choices(names or ""):
        is_file = Path(text).suffix in (".csv", ".parquet", ".gz", ".pq")
        chosen.append(GivenStrata.read(text) if is_file else stratification_from_name(text))
    return chosen


def read_original_labels(path: Path, people: SoftLabels | Beliefs) -> SoftLabels:
    """The class every item came with, over people's classes."""
    from sfumato.importers.hard_labels import read_truth

    return read_truth(path, people.classes)


def models_from_text(predicted: Sequence[str]) -> dict[str, Path]:
    """The files of `--predicted`, by name: `soft=a.parquet`, or the file's own name without its ending."""
    found: dict[str, Path] = {}
    for text in predicted:
        name, equals, file = text.partition("=")
        path = Path(text) if not equals or Path(text).exists() else Path(file)
        name = name if equals and path == Path(file) else path.name.partition(".")[0]
        if name in found:
            fix = f"name them, for example --predicted a={found[name]} --predicted b={path}"
            raise BadSetting(f"two predictions called {show(name)}", "a name of its own for each", fix, "doubled-name")
        found[name] = path
    return found


def named_file(text: str) -> tuple[str, Path]:
    """Name and file of `experts=experts.parquet`."""
    from sfumato.evaluation.cross_label import KINDS

    name, equals, path = text.partition("=")
    if not name or not equals or not path or name in KINDS:
        expected, fix = f"NAME=FILE, the name another than {', '.join(KINDS)}", "--against experts=experts.parquet"
        raise BadSetting(f"--against {show(text)}", expected, f"write for example {fix}")
    return name, Path(path)


def check_places(sources: Sequence[Path], runs: Path | None, output: Path, asked: EvaluateOptions) -> None:
    """Raise unless every output can be written to a file that is neither an input nor another output."""
    from sfumato.evaluation.publication_tables import check_ending
    from sfumato.tables.files.atomic_write import check_place

    tables = (asked.differences, asked.sets_table, asked.sets_items)
    check_outputs(*sources, output=output, differences=tables[0], sets_table=tables[1], sets_items=tables[2])
    seen = {path.absolute() for path in (*sources, output, *tables) if path}
    for path in (asked.table, asked.mode_shift, asked.cross_label):
        if path is None:
            continue
        check_ending(path)
        if check_place(path).absolute() in seen:
            found = f"the same file, {show(path.name)}, twice"
            raise BadSetting(found, "a separate file for each", "choose another file")
        seen.add(path.absolute())
    if runs is None:
        return
    is_flat = not any(runs.rglob("run.json"))
    for path in seen - {source.absolute() for source in sources}:
        inside = path.parent == runs.absolute() if is_flat else (path.parent / "run.json").exists()
        if inside:
            found = f"the output {show(path.name)} among the predictions"
            expected = "a folder where it is not read as one of them and does not replace one"
            raise BadSetting(found, expected, "choose another folder")
