"""A folder with a hospital's table, and somebody who has the link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2  # noqa: F401 - what the test client needs
import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from kagemusha.studio.jobs import Jobs
from kagemusha.studio.place import Place
from kagemusha.studio.server import create_app
from kagemusha.studio.site import Site
from kagemusha.web.access import Access, cookie_name

from .hospital import write_hospital

HOST = "127.0.0.1:8000"
LINK = "the-link"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    here = tmp_path / "hospital"
    here.mkdir()
    write_hospital(here / "stays.csv", 300)
    return here


@pytest.fixture
def site(folder: Path) -> Site:
    place = Place(folder)
    return Site(place, Access("secret", cookie=cookie_name((HOST,)), link=LINK), Jobs(place.hidden / "jobs"))


@pytest.fixture
def stranger(site: Site) -> TestClient:
    return TestClient(create_app(site, hosts=(HOST,)), base_url=f"http://{HOST}")


def signed_in(client: TestClient, link: str = LINK) -> TestClient:
    page = client.get(f"/enter?token={link}")
    assert page.status_code == 200, page.text
    client.headers["x-csrf"] = page.text.split('name="csrf" content="')[1].split('"')[0]
    return client


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    return signed_in(stranger)


@pytest.fixture
def ask(client: TestClient) -> Callable[..., dict[str, Any]]:
    """A call of our page about the table, which must succeed."""

    def asked(name: str, /, **body: Any) -> dict[str, Any]:
        answer = client.post(f"/api/{name}", json={"t": "stays.csv", **body})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    return asked


@pytest.fixture
def confirmed(ask: Callable[..., dict[str, Any]]) -> None:
    """The schema, drafted with facts and confirmed."""
    ask("draft", what="facts", internal=True)
    ask("schema", answer="confirm_all", who="Dr Ito", source="the law")
