"""A researcher's client for a study in this process: logs in by the link and keeps the cookie."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from site_client import JSON, AskedSite, Reply, SiteClient

from sfumato.server.app import application
from sfumato.server.dashboard_cache import DashboardCache, Sections
from sfumato.server.login_attempts import LoginAttempts
from sfumato.server.passwords import hash_password

PASSWORD = "nine gray geese by the lake"


@dataclass
class Researcher:
    """A client with or without a cookie."""

    asked: AskedSite
    cookie: str = ""

    @classmethod
    def by_link(cls, asked: AskedSite) -> Researcher:
        """A client that has just opened a new link."""
        reply = asked.client.send("POST", asked.site.dashboard.new_link())
        assert (reply.status, reply.header("location")) == (303, "/studio"), reply.body
        return cls(asked, cookie_of(reply))

    def get(self, target: str, headers: Mapping[str, str] | None = None) -> Reply:
        return self.asked.client.get(target, self._headers(headers))

    def post(self, target: str, value: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        return self.asked.client.post(target, value, self._headers(headers))

    def figures(self) -> dict[str, Any]:
        """All sections of the dashboard, with agreement computed."""
        recompute(self.asked.site.dashboard.feed.cache)
        reply = self.get("/studio/state")
        assert reply.status == 200, reply.body
        return json.loads(reply.body)

    def _headers(self, headers: Mapping[str, str] | None) -> dict[str, str]:
        return {"cookie": self.cookie} | dict(headers or {})


def recompute(cache: Any) -> Sections:
    """Every section of the dashboard, computed now regardless of the cost."""
    assert isinstance(cache, DashboardCache)

    def wait() -> None:
        if (task := cache._agreement_task) is not None:
            task.result()

    wait()
    cache._due_at.clear()
    cache.figures()
    wait()
    for name in ("all", "people"):
        cache._due_at.pop(name, None)
    return cache.figures()


def cookie_of(reply: Reply) -> str:
    """The session cookie of a reply, in the form that a browser sends."""
    return all_cookies_of(reply)[0]


def all_cookies_of(reply: Reply) -> list[str]:
    """The cookies of a reply: that of the session, and that of the device."""
    return [value.partition(";")[0] for name, value in reply.headers if name == "set-cookie"]


class UnlimitedAttempts(LoginAttempts):
    """Without limits on login attempts, for tests of something else."""

    def count_password(self, device: str | None, address: str) -> None:
        pass

    def count_wrong_link(self, address: str) -> None:
        pass

    def is_logged(self) -> bool:
        return True


def set_password(asked: AskedSite, password: str = PASSWORD) -> None:
    """Set the researcher's password while the study is served."""
    asked.site.dashboard.set_password(hash_password(password))


async def knocking(
    asked: AskedSite, password: str, cookie: str = "", *, address: str = "192.0.2.1", code: str = ""
) -> Reply:
    """The reply to an attempt by password, from a device with or without a cookie."""
    client = SiteClient(application(asked.site), asked.runner, address=address)
    body = json.dumps({"password": password, "code": code}).encode()
    return await client._send("POST", "/studio/login", body, JSON | {"cookie": cookie})


def knock(asked: AskedSite, password: str, cookie: str = "", **others: str) -> Reply:
    """As `knocking`, from outside of the event loop."""
    return asked.runner.run(knocking(asked, password, cookie, **others))
