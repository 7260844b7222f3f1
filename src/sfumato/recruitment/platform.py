"""The protocol of recruitment platforms, and reading their exports.

A platform is one file in this package, listed in `PLATFORMS`. Platform ids of participants are stored only in the table
`platform_ids`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from sfumato.elicitation.page_messages import Redirect
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, NotThere, listing, nearest, show

if TYPE_CHECKING:
    from sfumato.recruitment.platform_api import PlatformClient


FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Arrival:
    """A participant sent by a platform: their id there, and its ids of the study and the visit."""

    person: str
    study: str
    session: str
    submit_to: str = ""
    """The address to submit to at the end, if the platform sends one with each participant."""


@dataclass(frozen=True)
class PlatformSubmission:
    """A platform's record of one visit, from its export or its API. `status` is one of `STATUSES`."""

    person: str
    session: str
    status: str
    code: str = ""
    study: str = ""


STATUSES = ("active", "submitted", "approved", "rejected", "returned", "timed out", "screened out")
"""The status of a visit, in the same words for all platforms."""


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
    """Its name in texts."""
    asks: ClassVar[str]
    """The query of its entry address, with the platform's own placeholders."""

    signature: ClassVar[str]
    """The name in the query of the signature of an arrival; empty if the platform signs none."""
    checks_at_entry: ClassVar[bool]
    """Whether its API knows of a visit while it is active; otherwise only after it is submitted."""
    token_names: ClassVar[str]
    """The environment variables that its API needs."""

    @property
    def fee(self) -> float:
        """Its fee on top of the pay, as a share."""

    @property
    def study(self) -> str:
        """The study's id there (or ids, separated by spaces), if the study file has it."""

    @property
    def keys(self) -> str:
        """The file in the study's folder with the keys that sign arrivals; without it, signatures are not asked for."""

    @property
    def framed_by(self) -> tuple[str, ...]:
        """Origins that show the study in a frame and receive its form; none if it opens in a tab."""

    def arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """The arrival in the query of the entry address; None for a preview."""

    def is_signed(self, claims: Mapping[str, Any], arrival: Arrival, path: str) -> bool:
        """Whether the claims of a valid signature are about this arrival at this path."""

    def back(self, code: str, arrival: Arrival) -> Redirect:
        """The redirect for a participant with this code."""

    def submissions(self, rows: Sequence[Mapping[str, str]]) -> list[PlatformSubmission]:
        """The submissions in the platform's export."""

    def client(self, environment: Mapping[str, str]) -> PlatformClient | None:
        """The client of its API, if the environment has a token."""

    def may_refuse(self, n_failed: int, minutes: float | None) -> RejectionPolicy:
        """Whether pay may be refused for so many failed attention checks, in a study of this length."""


def check_settings(platform: str, name: str, value: object, fee: object, format: re.Pattern[str]) -> None:
    """Raise `BadSetting` unless the setting `name` is an id of the platform, or several separated by spaces, and the
    fee is a share from 0 to 2."""
    if not isinstance(value, str) or not all(format.fullmatch(each) for each in value.split()):
        expected = f"the id that {platform} shows, in quotes"
        raise BadSetting(f"{name} = {show(value)}", expected, f"copy the id from {platform}, or leave {name} out")
    if isinstance(fee, bool) or not isinstance(fee, (int, float)) or not 0 <= fee <= 2:
        expected = "a share of the pay from 0 to 2: 0.33 for a third"
        raise BadSetting(f"fee = {show(fee)}", expected, f"write the fee of {platform} as a share, or leave it out")


def id_in(query: Mapping[str, str], name: str, format: re.Pattern[str]) -> str:
    """An id in the query; an error if it is missing, not filled in, or not in the platform's format."""
    value = query.get(name, "")
    if not format.fullmatch(value):
        found = f"{'no' if not value else 'an invalid'} {name}"
        fix = "open the study from the platform; to try it yourself, use a link"
        raise NotThere(found, "the address as opened by the platform, with ids filled in", fix, "not-from-platform")
    return value


def status_in(found: str, words: Mapping[str, str]) -> str:
    """A platform's status as one of `STATUSES`; an unknown one is kept."""
    return words.get(re.sub(r"[^a-z]+", " ", found.lower()).strip(), found.lower())


def read_export(path: Path) -> list[dict[str, str]]:
    """Every row of a platform's CSV, all columns as text."""
    # Imported here: a server does not load Arrow.
    from sfumato.tables.files.table_file import read_rows

    rows = read_rows(path, guarded=False)
    return [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for chunk in rows.chunks
        for row in chunk.to_pylist()
    ]


def column_of(row: Mapping[str, str], name: str, *, needed: bool = True) -> str:
    """The value of the column `name`, in any case; an error if a needed one is missing."""
    for column, value in row.items():
        if column.strip().lower() == name.lower():
            return value.strip()
    if not needed:
        return ""
    expected = f"a column {name!r}, as the platform's export has it"
    fix = f"{nearest(name, row)}give the CSV as it was downloaded"
    raise BadTable(f"the columns {listing(list(row))}", expected, fix, "missing-column", ErrorLocation(column=name))
