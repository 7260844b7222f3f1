"""How commands name a store: its file, a study's folder or file, or the URL of a database."""

from __future__ import annotations

from pathlib import Path


def store_named(store: str) -> str | Path:
    """The store itself; that of a study where its folder or file is named."""
    path = Path(store)
    if "://" in store or (path.is_file() and path.suffix != ".toml"):
        return store
    if path.is_dir() or path.suffix == ".toml":
        from sfumato.study.study_file import read_study
        from sfumato.web.serving import store_beside

        return store_beside(read_study(path))
    return store
