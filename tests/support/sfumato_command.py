"""Runs `sfumato` commands as a user types them, in a separate process."""

from __future__ import annotations

import subprocess
from pathlib import Path

from loaded_python import loaded_sfumato


def sfumato(*arguments: object, cwd: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command; it must end with the exit code `code` and without a traceback."""
    done = loaded_sfumato().run(["-m", "sfumato", *arguments], folder=cwd)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done
