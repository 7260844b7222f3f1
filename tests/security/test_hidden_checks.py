"""Checks cannot be told from other items: by response time, by counting, or by comparing two accounts."""

from __future__ import annotations

import stat
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from picture_study import write_picture_study
from site_client import AskedSite, asked_site
from study_instance import Serve, items_named, plain_study, sent

from sfumato.elicitation.image_decoder import Decoder
from sfumato.elicitation.participant import Participant
from sfumato.elicitation.study_check import check_study
from sfumato.elicitation.trial_sequence import TrialSequence
from sfumato.planning.adaptive_assignment import AdaptiveSelector
from sfumato.planning.allocation import Allocation
from sfumato.study.study import Adaptive, Assignment, Check, People, Quality, Region

CHECKS = tuple(Check(f"i{n}", Region(("cat",), 0.6)) for n in range(8))


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path / "pets")) as opened:
        yield opened


def test_every_picture_is_read_in_the_same_way_however_often_it_was_shown(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recently shown pictures came from memory, a hundred times faster than others, and checks are shown to all."""
    asked.site.pictures.start(asked.site.stimuli)
    assert asked.site.pictures._thread is not None
    asked.site.pictures._thread.join()
    decoded: list[Path] = []
    monkeypatch.setattr(Decoder, "rendered_file", lambda _self, path, *_: decoded.append(path))
    read: list[Path] = []
    plain = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or plain(path))
    for _ in range(3):
        visit = asked.ready()
        for picture in [path for trial in visit.state()["trials"] for path in trial["pictures"]]:
            read.clear()
            assert asked.client.get(picture).status == 200
            # pytest reads modules of its plugins when they are imported.
            assert len([path for path in read if path.suffix != ".py"]) == 1
    assert not decoded


def test_until_all_pictures_are_prepared_every_request_encodes_its_own(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first minutes a check, which somebody had seen, was quick, and a picture that nobody had seen was slow."""
    begun, may_end, decoded = threading.Event(), threading.Event(), []
    plain = Decoder.rendered_file

    def rendered_file(self: Decoder, path: Path, *settings: Any) -> Any:
        if threading.current_thread().name == "pictures":
            begun.set()
            assert may_end.wait(60)
        else:
            decoded.append(path)
        return plain(self, path, *settings)

    monkeypatch.setattr(Decoder, "rendered_file", rendered_file)
    asked.site.pictures.start(asked.site.stimuli)
    assert begun.wait(60)
    shown = [path for trial in asked.ready().state()["trials"] for path in trial["pictures"]]
    bodies = [[asked.client.get(path).body for path in shown] for _ in range(2)]
    assert len(decoded) == 2 * len(shown)
    may_end.set()
    assert asked.site.pictures._thread is not None
    asked.site.pictures._thread.join()
    bodies.append([asked.client.get(path).body for path in shown])
    assert len(decoded) == 2 * len(shown)
    assert bodies[0] == bodies[1] == bodies[2]


def test_every_answer_is_compared_with_a_region_and_only_checks_count(serve: Serve) -> None:
    """The reply to a check of a detailed form took several milliseconds longer than others."""
    people = People(answers_per_item=20, batch_size=4, repeats=1, repeat_distance=2)
    study = plain_study(people=people, checks=CHECKS[:2], quality=Quality(most_failed=9, stop=True))
    at = serve(study, items_named(12))
    judged: list[Any] = []

    class Judge:
        def passes(self, _region: Region, _question: int, payload: Any) -> bool:
            judged.append(payload)
            return False

    at = at.restarted()
    at.running.check_judge = Judge()
    at.running.state._check_judge = at.running.check_judge
    person = at.new()
    n_answered = len(person.answer_all())
    assert n_answered == len(judged) == 4 + 1 + 2
    found = at.running.state.participant(None, person.token_hash, 0, 0)
    assert found is not None
    assert found.failed == 2


def test_in_an_adaptive_study_every_reply_takes_the_same_steps(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits, checks and repeats needed no choice of an item and no update of the state: with 10,000 items their
    replies were several milliseconds quicker."""
    people = People(answers_per_item=20, batch_size=12, repeats=2, assignment=Assignment.ADAPTIVE)
    rule = Adaptive(lead=9, index="lead", audit=0.5)
    study = plain_study(people=people, checks=CHECKS[:2], quality=Quality(most_failed=9), adaptive=rule)
    at = serve(study, items_named(20)).restarted(selector=AdaptiveSelector(study, background=False))
    steps: Counter[str] = Counter()
    for name in ("choose", "with_answers"):
        plain = getattr(Allocation, name)

        def counted(*given: Any, name: str = name, plain: Any = plain) -> Any:
            steps[name] += 1
            return plain(*given)

        monkeypatch.setattr(Allocation, name, counted)
    person, seen = at.new(), set()
    while (state := person.state()).stage == "trials":
        shown, n_held = state.trials[0], {each.handle for each in state.trials}
        steps.clear()
        result = person.submit(sent(shown.handle, "cat"))
        n_new = len({each.handle for each in result.state.trials} - n_held)
        assert steps == Counter({"choose": n_new, "with_answers": 1})
        seen.add(shown.handle)
    kinds = Counter(at.rows("SELECT purpose, audit FROM trials"))
    assert all(kinds[each] for each in (("label", 0), ("label", 1), ("check", 0), ("repeat", 0))), kinds
    assert len(seen) == kinds.total() == 16


def test_encoded_pictures_are_for_their_owner_alone(asked: AskedSite) -> None:
    visit = asked.ready()
    asked.client.get(visit.state()["trials"][0]["pictures"][0])
    (folder,) = asked.site.place.file.parent.glob("*.pictures")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_a_changed_picture_is_encoded_again(tmp_path: Path) -> None:
    from PIL import Image

    folder = write_picture_study(tmp_path / "pets")
    seen = []
    for color in ((1, 2, 3), (200, 100, 50)):
        for file in (folder / "images").rglob("*.png"):
            Image.new("RGB", (8, 8), color).save(file)
        with asked_site(folder) as opened:
            visit = opened.ready()
            seen.append(opened.client.get(visit.state()["trials"][0]["pictures"][0]).body)
    assert seen[0] != seen[1]


def test_the_number_of_checks_does_not_follow_from_what_the_page_is_sent(serve: Serve) -> None:
    """The page was sent the batch size of the study file and the number of trials: the difference are the checks."""
    study = plain_study(people=People(answers_per_item=20, batch_size=4), checks=CHECKS[:2], quality=Quality())
    at = serve(study, items_named(12))
    state = at.new().state()
    assert state.wanted == 6


def test_the_page_rests_after_equal_parts_of_all_trials(tmp_path: Path) -> None:
    folder = write_picture_study(tmp_path / "pets")
    text = (folder / "study.toml").read_text().replace("batch_size = 4", "batch_size = 2\nbatches = 2")
    (folder / "study.toml").write_text(text + '[[checks]]\nitem = "dog/hushed-2"\nclasses = ["dog"]\n')
    with asked_site(folder) as opened:
        state = opened.ready().state()
    # Four items and one check: five trials in two parts.
    assert (state["wanted"], state["batch_size"]) == (5, 3)


def sequence(n_checks: int | None) -> TrialSequence:
    return TrialSequence(People(batch_size=20), {}, dict.fromkeys(range(40)), checks_per_person=n_checks)


def checks_seen(rules: TrialSequence, seed: int) -> set[int]:
    """The checks that a participant gets, who answers everything."""
    person = Participant(id=1, token_hash="", seed=seed)
    found = set()
    for n in range(rules.n_wanted):
        if (check := rules.next_check(person)) is not None:
            found.add(check)
            person.seen.add(check)
            person.answered["check"] += 1
        else:
            person.seen.add(1000 + n)
            person.answered["label"] += 1
    return found


def test_two_people_do_not_have_the_same_checks() -> None:
    rules = sequence(4)
    drawn = [checks_seen(rules, seed) for seed in range(60)]
    assert {len(each) for each in drawn} == {4}
    shared = [len(one & other) for n, one in enumerate(drawn) for other in drawn[:n]]
    # By chance 4 * 4 / 40 = 0.4 of them are the same.
    assert sum(shared) / len(shared) < 0.8
    assert checks_seen(rules, 7) == checks_seen(rules, 7)
    assert rules.n_wanted == 24


def test_without_a_number_everybody_has_all_checks() -> None:
    assert len(checks_seen(sequence(None), 3)) == 40


def test_study_check_says_when_there_are_too_few_checks(tmp_path: Path) -> None:
    folder = write_picture_study(tmp_path / "pets", entry="links")
    tail = (
        '[platform]\nname = "prolific"\ncompleted = "C1A2B3C4"\n[[checks]]\nitem = "dog/hushed-2"\nclasses = ["dog"]\n'
    )
    file = folder / "study.toml"
    file.write_text(file.read_text() + tail)
    (warning,) = [each for each in check_study(folder).warnings if "checks" in each]
    assert "checks_per_person" in warning
    more = '[[checks]]\nitem = "dog/hushed-4"\nclasses = ["dog"]\n[quality]\nchecks_per_person = 1\n'
    file.write_text(file.read_text() + more)
    assert not [each for each in check_study(folder).warnings if "checks" in each]
    assert check_study(folder).n_per_person == 5
