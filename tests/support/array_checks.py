"""How arguments are checked while tests run, with whole numbers allowed where numbers are (PEP 484)."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
