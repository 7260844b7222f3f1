"""Makes the folder `badinput_cases` importable: test folders are no packages."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
