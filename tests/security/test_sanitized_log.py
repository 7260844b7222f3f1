"""What a running server writes to standard error when it fails: when, what and where, and nothing that it was sent."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from picture_study import write_picture_study
from site_client import asked_site
from uvicorn.config import LOGGING_CONFIG

from sfumato.server import server
from sfumato.server.served_study import ServedStudy

ENTRY = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 ERROR "


def failing(*_: object) -> None:
    raise KeyError("telltale")


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str:
    """What a server writes to standard error that fails at an answer and at another request."""
    with asked_site(write_picture_study(folder)) as asked, server.serve_site(asked.site) as address:
        person = asked.ready()
        sent = {"state": b"{}", "answers": json.dumps(person.body({"class": "cat"})).encode()}
        monkeypatch.setattr(ServedStudy, "state", failing)
        for name, body in sent.items():
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{address}{person.base}/api/{name}", body, headers)
            with pytest.raises(urllib.error.HTTPError, match="500") as refused:
                urllib.request.urlopen(request, timeout=30)
            refused.value.close()
    return capfd.readouterr().err


def test_every_entry_has_its_time_and_no_message_of_an_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = written(tmp_path, monkeypatch, capfd)
    assert len(re.findall(rf"{ENTRY}internal error [0-9a-f]{{8}}: KeyError$", text, re.M)) == 2
    traces = rf"{ENTRY}Exception in ASGI application\nTraceback of KeyError, without its message:$"
    assert len(re.findall(traces, text, re.M)) == 2
    assert "answer_api.py:" in text
    assert "telltale" not in text
    assert not [line for line in text.splitlines() if line and not re.match(rf"{ENTRY}|  |Traceback of", line)]


def test_the_usual_log_of_uvicorn_writes_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "LOGGING", LOGGING_CONFIG)
    assert "telltale" in written(tmp_path, monkeypatch, capfd)
