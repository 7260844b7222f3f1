"""The server's parts as a CycloneDX 1.5 document, from `requirements-serve.lock`: names, versions and hashes.

python tests/security/sbom.py      writes requirements-serve.cdx.json
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-serve.lock"
WRITTEN = ROOT / "requirements-serve.cdx.json"


def locked(text: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of every package of a lock file."""
    found: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in text.splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", line):
            name = match[1]
            found[name] = (match[2], [])
        elif match := re.search(r"--hash=sha256:([0-9a-f]{64})", line):
            found[name][1].append(match[1])
    return found


def sbom(text: str) -> dict[str, Any]:
    """The document."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "sfumato", "bom-ref": "sfumato"}},
        "components": [
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "bom-ref": f"pkg:pypi/{name}@{version}",
                "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
            }
            for name, (version, hashes) in locked(text).items()
        ],
    }


if __name__ == "__main__":
    WRITTEN.write_text(json.dumps(sbom(LOCK.read_text("utf-8")), indent=1) + "\n")
