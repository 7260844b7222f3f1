"""`sfumato plan` as a user types it: decide, write, show; and everything that cannot be decided."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sfumato import Plan, SoftLabels
from sfumato.cli.plan import QUESTIONS, command
from sfumato.cli.plan_options import costs_of, pilot_of
from sfumato.cli.study import command as study_command
from sfumato.planning.plan_file import Fewest
from sfumato.tables.errors import SfumatoError

PRICE = ("--seconds", "choice=3600", "--wage", "1", "--fee", "0", "--overhead", "1")
"""An answer of kind choice costs 1."""
QUICK = ("--goal", "geometry", "--kinds", "choice", *PRICE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Labels of 600 items by eight people each, answers with and without times, and tables that are no pilot."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(8, p) for p in rng.dirichlet([3, 0.5, 0.2], 600)])
    items = [f"i{i}" for i in range(600)]
    SoftLabels.from_numpy(items, counts / 8, ["cat", "dog", "emu"], 8).write(tmp_path / "labels.parquet")
    SoftLabels.from_numpy(items, counts / 8, ["cat", "dog", "emu"]).write(tmp_path / "uncounted.parquet")
    SoftLabels.from_numpy([], np.empty((0, 2)), ["cat", "dog"], 0).write(tmp_path / "empty.parquet")
    (tmp_path / "one.csv").write_text("item,annotator,p:cat\na,x,1\n")
    for name, seconds in (("timed.csv", "7"), ("untimed.csv", "")):
        rows = [f'i{i},a{a},choice/1,"{{""class"": ""{"cat" if (i + a) % 5 else "dog"}""}}",{seconds}'
                for i in range(60) for a in range(4)]  # fmt: skip
        (tmp_path / name).write_text("item,annotator,kind,payload,seconds\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 110
    return done.output


def new_study() -> None:
    """Ten circles and squares, in the folder study."""
    done = CliRunner().invoke(study_command, ["new", "study", "--demo", "--kind", "choice"], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def refused(*arguments: object) -> SfumatoError:
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert isinstance(done.exception, SfumatoError), done.output
    return done.exception


def test_the_whole_answer() -> None:
    shown = run("--pilot", "labels.parquet", *QUICK, "--items", 100, "--budget", 750, "-o", "plan.json", "--seed", 3)
    plan = Plan.read("plan.json")
    assert plan.answers == Fewest(each=7)
    assert plan.cost.money == 700
    sentence = " ".join(shown.split("\n\n")[1].split())
    assert sentence.startswith("With 750 USD: collect 700 single-choice answers, 7 for each of 100 items.")
    assert "Expected error: a mean squared distance of" in sentence
    assert f"of {plan.expected.value:.3g} (95% CI {plan.expected.low:.3g} to {plan.expected.high:.3g})" in sentence
    assert "Cost: 700.00 USD, 700.0 paid hours, about 28 people." in sentence
    assert "<- the plan" in next(line for line in shown.splitlines() if re.match(r" +7 ", line))
    for heading in ("based on a pilot of 600 items", "alternatives:", "what would change it:", "assumptions:"):
        assert heading in shown
    # The error itself: the mean of 1 - |p|^2 over items like the pilot's, from pairs of its answers, over seven.
    labels = SoftLabels.read("labels.parquet")
    differ = float(((1 - (labels.probs**2).sum(axis=1)) * 8 / 7).mean())
    assert plan.expected.value == pytest.approx(differ / 7, rel=0.05)
    # How it was made can be read, and done again.
    assert plan.made.seed == 3
    assert plan.made.pilot is not None
    assert plan.made.pilot.file == "labels.parquet"
    assert plan.made.command.startswith("sfumato plan --pilot labels.parquet --items 100 --goal geometry --budget 750")
    run(*plan.made.command.replace("plan.json", "again.json").split()[2:])
    again, first = json.loads(Path("again.json").read_text()), json.loads(Path("plan.json").read_text())
    assert {**again, "made": 0} == {**first, "made": 0}


def test_a_target_and_both() -> None:
    shown = run("--pilot", "labels.parquet", *QUICK, "--items", 10, "--threshold", 0.05, "-o", "plan.json")
    plan = Plan.read("plan.json")
    assert plan.expected.high is not None
    assert plan.expected.high <= 0.05
    assert plan.budget is None
    assert "the threshold is reached with probability" in " ".join(shown.split())
    enough = plan.cost.money
    run("--pilot", "labels.parquet", *QUICK, "--items", 10, "--threshold", 0.05, "--budget", enough, "-o", "both.json")
    assert Plan.read("both.json").answers == plan.answers
    error = refused("--pilot", "labels.parquet", *QUICK, "--items", 10, "--threshold", 0.05, "--budget", enough - 1)
    assert error.code == "budget-too-small"
    assert f"raise the budget to {enough:.2f} USD" in error.fix


def test_a_distribution_by_kl_and_a_share_of_items() -> None:
    prior = ("--prior", "dirichlet:0.3", "--classes", "cat,dog", "--items", 1000)
    usual = (*prior, "--kinds", "choice", "--most", 12, "--no-adaptive", *PRICE)
    shown = run(*usual, "--budget", "6000 answers", "-o", "plan.json")
    plan = Plan.read("plan.json")
    assert (plan.answers, plan.expected.measure, plan.expected.low) == (Fewest(each=6), "kl", None)
    assert plan.classes == ("cat", "dog")
    assert plan.budget is not None
    assert plan.budget.unit == "answers"
    assert "based on an assumed prior" in shown
    assert "nothing here was measured" in " ".join(shown.split())
    run(*usual, "--threshold", 0.1, "--share", 0.8, "-o", "share.json")
    share = Plan.read("share.json")
    assert share.expected.measure == "share_beyond_0.1_kl"
    assert share.expected.value <= 0.2


def test_the_class_is_asked_until_one_leads() -> None:
    shown = run(
        "--pilot", "labels.parquet", "--goal", "class", "--kinds", "choice", *PRICE, "--items", 50, "--budget", 250
    )
    assert "until one class is" in " ".join(shown.split())
    equal = ("--goal", "class", "--kinds", "choice", *PRICE, "--no-adaptive")
    without = run("--pilot", "labels.parquet", *equal, "--items", 50, "--budget", 250)
    assert "collect 250 single-choice answers, 5 for each of 50 items" in " ".join(without.split())


def test_times_of_the_pilot_or_else_the_usual() -> None:
    given = ("--classes", "cat,dog", "--goal", "geometry", "--kinds", "choice", "--budget", 20)
    shown = run("--pilot", "timed.csv", *given, "-o", "plan.json")
    plan = Plan.read("plan.json")
    assert plan.question.seconds == pytest.approx(7 * 1.29)
    assert "measured: 240 answers" in " ".join(shown.split())
    assert plan.n_items == 60  # the pilot's, where nothing else is said
    source = pilot_of(Path("untimed.csv"), ("cat", "dog"))
    costs, notes = costs_of(source, None, seconds=(), wage=None, fee=None, overhead=None, currency=None)
    assert costs.seconds("choice") == pytest.approx((3.3 - 8 * 0.1) * 1.29)  # two classes, not ten
    assert "the pilot has no times" in notes[0]


def test_fewer_items_than_there_are() -> None:
    shown = run("--pilot", "labels.parquet", *QUICK, "--budget", 100, "-o", "plan.json")
    plan = Plan.read("plan.json")
    assert (plan.n_items, plan.answers) == (100, Fewest(each=1))
    assert len(plan.items) == 100
    assert "one answer for 100 of 600 items; one for each item costs 600.00 USD" in " ".join(shown.split())


def test_a_study_gives_items_classes_kind_and_pay(tmp_path: Path) -> None:
    new_study()
    study = tmp_path / "study" / "study.toml"
    study.write_text(study.read_text() + '\n[pay]\namount = 2.0\ncurrency = "GBP"\n')
    given = ("--study", "study", "--prior", "dirichlet:0.5", "--goal", "geometry", "--fee", 0)
    shown = run(*given, "--budget", 10, "-o", "plan.json")
    plan = Plan.read("plan.json")
    assert (plan.classes, plan.n_items, plan.question.kind) == (("circle", "square"), 10, "choice")
    # A batch of ten pays 2: an answer costs 0.2, and 10 buys five about each of ten items.
    assert plan.cost.currency == "GBP"
    assert plan.cost.an_answer == pytest.approx(0.2)
    assert plan.answers == Fewest(each=5)
    assert "a batch pays 2 GBP" in shown
    error = refused("--study", "study", "--budget", 10)
    assert "a study without answers" in error.found
    assert "classes" in refused("--study", "study", "--pilot", "labels.parquet", "--budget", 10).found
    assert "at most the study's 10" in refused(*given, "--budget", 10, "--items", 11).expected


def test_items_for_the_richer_form() -> None:
    Path("items.csv").write_text("item,form\ni3,top_two\ni4,choice\ni5,top_two\n")
    given = ("--pilot", "labels.parquet", *QUICK, "--seconds", "top_two=7200", "--budget", 2000)
    shown = run(*given, "--items-file", "items.csv", "-o", "plan.json")
    plan = Plan.read("plan.json")
    assert plan.deeper_items == ("i3", "i5")
    assert plan.question.deeper is not None
    assert plan.question.deeper.kind == "top_two"
    assert plan.answers == Fewest(each=3)
    assert plan.cost.money == 1804
    assert "2 items get one top_two answer first." in shown
    Path("other.csv").write_text("item,what\ni3,top_two\n")
    assert "item and form" in refused(*given, "--items-file", "other.csv").expected


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("--budget 5", "bad-setting"),
        ("--pilot labels.parquet", "bad-setting"),
        ("--pilot labels.parquet --prior uniform --budget 5", "bad-setting"),
        ("--pilot labels.parquet --budget 0", "bad-setting"),
        ("--pilot labels.parquet --budget much", "bad-setting"),
        ("--pilot labels.parquet --budget '5 EUR'", "bad-setting"),
        ("--pilot labels.parquet --budget 0.01", "budget-too-small"),
        ("--pilot labels.parquet --budget 5 --wage -1", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --fee -1", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --overhead 0.5", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --seconds choice=-2", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --seconds choice", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --votes choice=x", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --votes sliders=0 --kinds sliders", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --goal beauty", "unknown-goal"),
        ("--pilot labels.parquet --budget 5 --kinds choise", "unknown-kind"),
        ("--pilot labels.parquet --budget 5 --kinds triplet", "no-rate"),
        ("--pilot labels.parquet --budget 5 --items 0", "bad-setting"),
        ("--pilot labels.parquet --budget 5 --seed -1", "bad-setting"),
        ("--pilot labels.parquet --target 0", "bad-setting"),
        ("--pilot labels.parquet --share 0.5 --budget 5", "bad-setting"),
        ("--pilot labels.parquet --threshold 0.1 --share 0.5 --goal class", "bad-setting"),
        ("--pilot labels.parquet --target 0.0001 --most 20 --goal geometry", "out-of-reach"),
        ("--pilot labels.parquet --budget 5 -o plan.csv", "file-kind"),
        ("--pilot labels.parquet --budget 5 -o nowhere/plan.json", "no-such-folder"),
        ("--pilot labels.parquet --budget 5 --page plan.pdf", "bad-setting"),
        ("--pilot uncounted.parquet --budget 5", "no-counts"),
        ("--pilot empty.parquet --budget 5", "no-rows"),
        ("--pilot one.csv --budget 5", "bad-classes"),
        ("--prior dirichlet:0.3 --budget 5 --items 5", "bad-setting"),
        ("--prior dirichlet:0.3 --classes 1 --budget 5 --items 5", "bad-setting"),
        ("--prior dirichlet:0.3 --classes 3 --budget 5", "bad-setting"),
        ("--prior normal --classes 3 --budget 5 --items 5", "bad-setting"),
        ("--budget 5 annotators", "usage"),
    ],
)
def test_what_cannot_be_decided(arguments: str, code: str) -> None:
    import shlex

    error = refused(*shlex.split(arguments))
    assert error.code == code, error
    assert error.fix
    assert not list(Path.cwd().glob("*.json"))


def test_help_shows_both() -> None:
    shown = run("--help")
    for word in ("--budget", "--goal", "-o, --output", *QUESTIONS):
        assert word in shown
    assert run() == shown


def test_a_page_to_decide_from(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.reporting import plan_page

    pages: list[tuple[Plan, Path]] = []
    monkeypatch.setattr(plan_page, "write_plan_page", lambda plan, path, **_: pages.append((plan, path)))
    run("--pilot", "labels.parquet", *QUICK, "--items", 100, "--budget", 750, "--page", "plan.html", "-o", "plan.json")
    assert pages == [(Plan.read("plan.json"), Path("plan.html"))]


def test_answers_of_a_study_are_a_pilot() -> None:
    pytest.importorskip("starlette")
    from sfumato.cli import simulate

    new_study()
    done = CliRunner().invoke(simulate.command, ["study", "--annotators", "5"])
    assert done.exit_code == 0, done.output
    with pytest.warns(match="the pilot is small"):
        shown = run("--study", "study", "--goal", "geometry", "--budget", 5, "-o", "plan.json")
    assert Plan.read("plan.json").expected.source == "pilot of 10 items"
    assert "measured: 50 answers" in shown
