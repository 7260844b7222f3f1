"""A participant cannot tell a check, a repeat or an audit from an ordinary item: pages, addresses, headers, sizes and
fields of both are the same."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from picture_study import write_picture_study
from PIL import Image
from site_client import AskedSite, Reply, Visit, asked_site

N_PICTURES = 24
SETTINGS = """
[[checks]]
item = "dog/hushed-2"
classes = ["dog"]
[[checks]]
item = "dog/hushed-4"
classes = ["dog"]
[[checks]]
item = "cat/hushed-3"
classes = ["cat"]
[adaptive]
audit = 0.9
fewest = 1
"""
RANDOM = re.compile(r"[\w-]{44}|[\w-]{24}")
"""Tokens and handles, which are random: their length is part of what is compared."""
COUNTERS = ("answered", "progress", "done", "number", "position")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study whose pictures are all the same, so that nothing but the kind of trial could differ."""
    place = write_picture_study(tmp_path / "pets")
    for i in range(N_PICTURES):
        file = place / "images" / ("cat", "dog")[i % 2] / f"hushed-{i + 1}.png"
        Image.new("RGB", (8, 8), (90, 60, 30)).save(file)
    text = (place / "study.toml").read_text()
    text = text.replace("batch_size = 4", 'batch_size = 12\nrepeats = 2\nassignment = "adaptive"')
    (place / "study.toml").write_text(text + SETTINGS)
    return place


def shape(value: Any, name: str = "") -> Any:
    """A JSON value with random texts replaced by their length, and counters by their type."""
    if isinstance(value, dict):
        return {key: shape(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each, name) for each in value]
    if isinstance(value, str):
        return RANDOM.sub(lambda found: f"<{len(found[0])}>", value)
    return type(value).__name__ if name in COUNTERS else value


def headers_of(reply: Reply) -> tuple[tuple[str, str], ...]:
    """All headers; a content length is that of a body that is compared too."""
    return tuple(sorted((name, RANDOM.sub("<>", value)) for name, value in reply.headers if name != "content-length"))


def seen_of(asked: AskedSite, page: Reply, trial: dict[str, Any], reply: Reply) -> str:
    """Everything that a participant sees of one trial, as text: the trial in the state, its page, its pictures with
    their headers and sizes, and the reply to its answer."""
    pictures = [asked.client.get(path) for path in trial["pictures"]]
    found = {
        "trial": shape(trial),
        "length": len(json.dumps(trial | {"number": 0})),
        "page": (page.status, headers_of(page), len(page.body)),
        "pictures": [(each.status, headers_of(each), len(each.body), each.body.hex()) for each in pictures],
        "reply": (reply.status, headers_of(reply), sorted(reply.json), sorted(reply.json["state"])),
    }
    return json.dumps(found, sort_keys=True, default=str)


def kinds_seen(asked: AskedSite, n_people: int) -> dict[str, set[str]]:
    """What participants see of each kind of trial; the kind is read from the store afterwards."""
    by_handle: dict[str, str] = {}
    for _ in range(n_people):
        visit = asked.ready()
        while (state := visit.state())["stage"] == "trials" and state["trials"]:
            trial = state["trials"][0]
            page = asked.client.get(visit.base)
            reply = visit.submit(visit.body({"class": "cat" if len(by_handle) % 3 else "dog"}, trial=trial["trial"]))
            assert reply.status == 201, reply.body
            if reply.json["state"]["stage"] == "trials":  # the end is seen after the last trial, whatever its kind
                by_handle[trial["trial"]] = seen_of(asked, page, trial, reply)
    seen: dict[str, set[str]] = defaultdict(set)
    for row in asked.stored("trials"):
        if row["handle"] in by_handle and row["purpose"] != "practice":
            seen["audit" if row["audit"] else row["purpose"]].add(by_handle[row["handle"]])
    return seen


def test_checks_repeats_and_audits_look_like_ordinary_items(folder: Path) -> None:
    with asked_site(folder) as asked:
        seen = kinds_seen(asked, 4)
    assert set(seen) == {"label", "check", "repeat", "audit"}, set(seen)
    ordinary = seen["label"]
    for kind, own in seen.items():
        assert own <= ordinary, (kind, sorted(own - ordinary)[:1], sorted(ordinary)[:1])


def test_a_field_that_only_checks_have_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: a server that marks checks is found."""
    with asked_site(folder) as asked:
        plain = Visit.state
        checks = {}

        def marked(self: Visit) -> dict[str, Any]:
            state = plain(self)
            checks.update({row["handle"]: row["purpose"] for row in asked.stored("trials")})
            for trial in state.get("trials") or []:
                if checks.get(trial["trial"]) == "check":
                    trial["fixed"] = True
            return state

        monkeypatch.setattr(Visit, "state", marked)
        seen = kinds_seen(asked, 1)
    assert not seen["check"] <= seen["label"]
