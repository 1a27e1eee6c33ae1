"""A labelling page that the studio opens: agreed to first, opened once, closed with the studio."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from kagemusha.studio.site import Site

Ask = Callable[..., dict[str, Any]]
FIELDS = {"question": "urgency", "classes": "low,high", "labels": "40", "epsilon": "1"}


def agreed(client: TestClient, **more: str) -> dict[str, str]:
    page = client.get("/label", params={"t": "stays.csv", **FIELDS, **more}).text
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.partition('data-call="label"')[2]))


@pytest.mark.usefixtures("confirmed")
def test_it_is_agreed_to_word_by_word(client: TestClient) -> None:
    fields = agreed(client)
    for changed in ({"epsilon": "2"}, {"nonce": "0" * 64}, {"question": "other"}, {"labels": "50"}):
        body = {"t": "stays.csv", **fields, **changed, "typed": f"spend {changed.get('epsilon', 1)}"}
        assert client.post("/api/label", json=body).status_code == 409, changed
    assert client.post("/api/label", json={"t": "stays.csv", **fields, "typed": "yes"}).status_code == 400
    for wrong in ({"question": "--out"}, {"question": "two words"}, {"classes": "one"}, {"classes": "--a,--b"}):
        assert client.get("/label", params={"t": "stays.csv", **FIELDS, **wrong}).status_code == 404, wrong


@pytest.mark.slow
@pytest.mark.usefixtures("confirmed")
def test_its_page_opens_once_and_closes_with_the_studio(client: TestClient, site: Site) -> None:
    fields = {"t": "stays.csv", **agreed(client), "typed": "spend 1"}
    try:
        links = {client.post("/api/label", json=fields).json()["go"] for _ in range(3)}
        (link,) = links
        assert "urgency" in httpx2.get(link, follow_redirects=True, headers={"connection": "close"}).text
    finally:
        site.labellings.stop()
    time.sleep(0.5)
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(link)
