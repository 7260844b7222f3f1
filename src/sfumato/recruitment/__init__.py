"""Recruitment platforms, payment and reconciliation. One file per platform; `PLATFORMS` lists them all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.recruitment.mturk import MTurk
from sfumato.recruitment.platform import Platform
from sfumato.recruitment.prolific import Prolific
from sfumato.recruitment.signed_arrival import SignatureKeys
from sfumato.study.study import Study
from sfumato.study.toml_mistakes import Mistakes
from sfumato.tables.errors import BadFile, BadSetting, UnknownName
from sfumato.tables.strategies import strategy_from_name

PLATFORMS: tuple[Any, ...] = (Prolific, MTurk)


def platform_of(study: Study) -> Platform | None:
    """The platform of a study, with its settings."""
    if study.recruiting is None:
        return None
    return strategy_from_name("platform", PLATFORMS, study.recruiting.platform, study.recruiting.settings)  # type: ignore[no-any-return]


def signature_keys(study: Study) -> SignatureKeys | None:
    """The keys that sign the platform's arrivals, if the study file names their file."""
    platform = platform_of(study)
    if platform is None or not platform.keys:
        return None
    return SignatureKeys((study.path.parent if study.path else Path()) / platform.keys)


def check_platform(study: Study, mistakes: Mistakes) -> None:
    """Check `[platform]`: its name and settings."""
    if mistakes.about("platform", "name"):
        return
    try:
        signature_keys(study)
    except BadFile as error:
        mistakes.place(("platform", "keys"), error)
    except (BadSetting, UnknownName) as error:
        words = error.found.replace("-", "_").split()
        settings = study.recruiting.settings if study.recruiting else {}
        mistakes.place(("platform", next((key for key in settings if key in words), "name")), error)
