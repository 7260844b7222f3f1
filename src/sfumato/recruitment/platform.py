"""Platform: where people come from when they are not sent a link: what it tells of them, and how it gets them back.

A platform is one file here, listed once in `PLATFORMS`, and beside it one that speaks to its API. Who a person is on
the platform stands in the table `platform_ids` and nowhere else.

The rows of a platform's export, by the names of its columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from sfumato.elicitation.participant_state import Redirect
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, NotThere, listing, nearest, show

if TYPE_CHECKING:
    from sfumato.recruitment.platform_api import PlatformClient


ID = re.compile(r"[A-Za-z0-9]{4,64}")
"""What platforms use as ids; whatever else comes in their place was not filled in by one."""


@dataclass(frozen=True)
class Arrival:
    """Somebody sent by a platform: who they are there, and what it calls this study and this visit."""

    person: str
    study: str
    session: str
    submit_to: str = ""
    """Where the platform wants to hear that they are done, if it says so with each person."""


@dataclass(frozen=True)
class PlatformSubmission:
    """What a platform knows of one person's visit, from its export or its API. `status` is one of `STATUSES`."""

    person: str
    session: str
    status: str
    code: str = ""
    study: str = ""


STATUSES = ("active", "submitted", "approved", "rejected", "returned", "timed out", "screened out")
"""How a visit stands on a platform, in one set of words for all of them."""


@dataclass(frozen=True)
class RejectionPolicy:
    """Whether pay may be refused on a platform, and why or why not."""

    holds: bool
    reason: str

    @property
    def sentence(self) -> str:
        return f"{'perhaps' if self.holds else 'no'}: {self.reason}"


@runtime_checkable
class Platform(Protocol):
    """One platform. Its settings are the further keys of `[platform]` in the study file."""

    name: ClassVar[str]
    title: ClassVar[str]
    """Its name as people know it."""
    asks: ClassVar[str]
    """The query that its entry address must carry, with the platform's own placeholders."""

    checks_at_entry: ClassVar[bool]
    """Whether its API knows of a visit while it goes on; else only once it is over."""
    token_names: ClassVar[str]
    """What the environment must hold for its API to be asked."""

    @property
    def fee(self) -> float:
        """What it takes on top of what people get, as a share of it."""
        ...

    @property
    def study(self) -> str:
        """The study's id there (ids, separated by blanks), where the study file names it."""
        ...

    @property
    def framed_by(self) -> tuple[str, ...]:
        """Origins that show the study in a frame, and take a form from it; none where it opens in a tab."""
        ...

    def arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """Who comes, from the query of the entry address; None for somebody who only looks."""
        ...

    def back(self, code: str, arrival: Arrival) -> Redirect:
        """How somebody with this code gets back."""
        ...

    def submissions(self, rows: Sequence[Mapping[str, str]]) -> list[PlatformSubmission]:
        """What the platform's export says, row by row."""
        ...

    def caller(self, environment: Mapping[str, str]) -> PlatformClient | None:
        """Whom to ask at the platform, if there is a token for it in the environment."""
        ...

    def may_refuse(self, n_failed: int, minutes: float | None) -> RejectionPolicy:
        """Whether so many failed attention checks are a ground to refuse pay, in a study of this length."""
        ...


def check_ids(platform: str, name: str, value: object) -> None:
    """Raise `BadSetting` unless the setting `name` is an id of the platform, or several separated by blanks."""
    if not isinstance(value, str) or not all(ID.fullmatch(each) for each in value.split()):
        raise BadSetting(
            f"found {name} = {show(value)}",
            expected=f"the id that {platform} shows: letters and digits, in quotes",
            fix=f"copy the id from {platform}, or leave {name} out",
            code="bad-setting",
        )


def check_fee(platform: str, value: object) -> None:
    """Raise `BadSetting` unless the fee is a share from 0 to 2."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 2:
        raise BadSetting(
            f"found fee = {show(value)}",
            expected="a share of the pay from 0 to 2: 0.33 for a third",
            fix=f"write what {platform} takes on top as a share, or leave it out",
            code="bad-setting",
        )


def given(query: Mapping[str, str], name: str) -> str:
    """An id of the query; an error where it is missing or was not filled in."""
    value = query.get(name, "")
    if not ID.fullmatch(value):
        raise NotThere(
            f"found {'no' if not value else 'an unusable'} {name}",
            expected="the address as the platform opens it, with ids filled in",
            fix="open the study from the platform; to try it yourself use a link of your own",
            code="not-from-platform",
        )
    return value


def status_in(found: str, words: Mapping[str, str]) -> str:
    """A platform's word for how a visit stands as one of `STATUSES`; one we do not know stays as it is."""
    return words.get(re.sub(r"[^a-z]+", " ", found.lower()).strip(), found.lower())


def read_export(path: Path) -> list[dict[str, str]]:
    """Every row of a platform's CSV, all columns as text."""
    # Arrow is for exports; a server does without.
    from sfumato.tables.files import read_rows

    rows = read_rows(path, guarded=False)
    return [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for chunk in rows.chunks
        for row in chunk.to_pylist()
    ]


def column_of(row: Mapping[str, str], name: str, *, needed: bool = True) -> str:
    """The value of the column `name`, whatever its case; an error where a needed one is not there."""
    for column, value in row.items():
        if column.strip().lower() == name.lower():
            return value.strip()
    if not needed:
        return ""
    raise BadTable(
        f"found the columns {listing(list(row))}",
        expected=f"a column {name!r}, as the platform's export has it",
        fix=f"{nearest(name, row)}give the CSV as it was downloaded",
        code="missing-column",
        where=ErrorLocation(column=name),
    )
