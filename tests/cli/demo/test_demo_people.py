"""Simulated people: answers that come over HTTP and are the same every time, and nothing left of a stopped study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.cli.demo.demo_digits import CLASSES, Digits
from sfumato.cli.demo.demo_people import PART, SimulatedPerson, answer_studies, answer_study
from sfumato.cli.demo.demo_steps import FORMS, folder_of, write_studies
from sfumato.store.export import export
from sfumato.store.location import StoreLocation
from sfumato.tables.errors import BadSetting

N_ITEMS, N_PEOPLE = 20, 8


def studies_in(folder: Path, n_people: int = N_PEOPLE) -> Path:
    """The three studies about images without anything on them, with views drawn by chance."""
    rng = np.random.default_rng(3)
    items = tuple(f"digit-{row:04d}" for row in range(N_ITEMS))
    views = rng.dirichlet(np.full(10, 0.3), (2, N_ITEMS))
    folder.mkdir()
    Digits(items, np.zeros((N_ITEMS, 8, 8), np.uint8), rng.integers(10, size=N_ITEMS), views).write(folder)
    write_studies(folder, n_items=N_ITEMS, n_people=n_people, n_answers=n_people // 2)
    return folder


def answers_in(folder: Path, form: str = "tokens") -> pl.DataFrame:
    export(
        StoreLocation.of(folder / "store" / "answers.sqlite"), f"digits-{form.replace('_', '-')}", folder / "a.parquet"
    )
    return pl.read_parquet(folder / "a.parquet")


def test_the_same_answers_of_the_same_people_every_time(tmp_path: Path) -> None:
    said = ["item", "annotator", "payload", "trial", "purpose", "seconds"]
    places = [studies_in(tmp_path / name) for name in ("one", "other")]
    for place in places:
        answer_study(place, N_PEOPLE)
    one, other = map(answers_in, places)
    assert len(one) == N_PEOPLE * (10 + 3)
    assert one.select(said).equals(other.select(said))
    given = one.filter(pl.col("purpose") == "label").group_by("item").len()["len"]
    assert (given.min(), given.max()) == (4, 4)


def test_all_three_forms_at_once(tmp_path: Path) -> None:
    folder = studies_in(tmp_path / "one")
    places = [folder_of(folder, form) for form in FORMS]
    answer_studies(places, 3)
    assert [len(answers_in(place, form)) for place, form in zip(places, FORMS, strict=True)] == [39, 39, 39]
    people = [set(answers_in(place, form)["annotator"]) for place, form in zip(places, FORMS, strict=True)]
    assert people[0] == people[1] == people[2]
    assert answers_in(places[1], "choice")["kind"].unique().to_list() == ["choice/1"]


def test_a_stopped_study_leaves_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = studies_in(tmp_path / "one")
    before = sorted(folder.rglob("*"))

    def stopped(*_: object, **__: object) -> None:
        assert (folder / PART / "answers.sqlite").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.server.simulated_visits.simulate", stopped)
    with pytest.raises(KeyboardInterrupt):
        answer_study(folder, N_PEOPLE)
    assert sorted(folder.rglob("*")) == before


def test_a_study_that_cannot_be_answered_stops_the_others(tmp_path: Path) -> None:
    so_many_that_they_are_still_at_it = 5000
    folder = studies_in(tmp_path / "one", so_many_that_they_are_still_at_it)
    (folder / "choice" / "study.toml").write_text("title = ")
    with pytest.raises(BadSetting, match="could not be answered") as caught:
        answer_studies([folder / "choice", folder], so_many_that_they_are_still_at_it)
    assert "sfumato study check" in caught.value.fix
    assert not (folder / PART).exists()
    assert not (folder / "store").exists()


def test_people_see_what_their_view_shows() -> None:
    views = np.full((2, 1, 10), 1e-6)
    views[0, 0, 3] = views[1, 0, 8] = 1
    people = [SimulatedPerson(number, views, {"digit-0000": 0}) for number in range(8)]
    seen = [CLASSES[int(person.belief("digit-0000").argmax())] for person in people]
    assert seen == ["3", "8"] * 4
    assert np.array_equal(people[0].belief("digit-0000"), people[0].belief("digit-0000"))
    assert [person.looks for person in people] == [True] * 7 + [False]
