"""What a release must keep, from the form to the page of the release; tables that belong together cannot demand it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kagemusha.certificate.acceptance import answers
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import CERTIFICATE, read_certificate
from kagemusha.studio.site import Site

from .families import write_families
from .test_jobs import done
from .test_server import english_in, pay, shown

Ask = Callable[..., dict[str, Any]]
WHO = {"who": "Dr Ito", "source": "the law"}
REF = {"r": "stays-doubles"}


def section(page: str) -> str:
    """What a release must keep, on its page."""
    found = re.search(r'<section class="card" aria-labelledby="kept-title">.*?</section>', page, flags=re.S)
    return "" if found is None else unescape(found[0])


@pytest.fixture
def demanded(client: TestClient, site: Site, ask: Ask, confirmed: None) -> Path:
    """A release of one table with a table that must be right and three criteria, one of which cannot be met."""
    ask("schema", answer="require", columns="ward, sex", weight="2")
    ask("schema", answer="accept", what="tables", columns="ward, sex, emergency", within="90", share="5")
    ask("schema", answer="accept", what="mean", columns="age", within="0.000001", share="5")
    ask("schema", answer="accept", what="rules")
    outcome = done(site, pay(client, shown(client)).json()["go"])
    assert "error" not in outcome, outcome
    return site.place.folder / "stays-doubles"


def test_the_page_of_a_release_shows_what_it_kept(client: TestClient, demanded: Path, ask: Ask) -> None:
    certificate = Certificate.from_json(read_certificate(demanded / CERTIFICATE))
    said, found = answers(certificate), section(client.get("/release", params=REF).text)
    assert len(said) == 3
    for one in said:
        badge = f'<span class="badge {"done" if one["answer"] == "kept" else "confirm"}">{one["answer"]}</span>'
        assert f"{badge} {one['criterion']}" in found
        assert one["found"] in found
    assert {one["answer"] for one in said} > {"kept"}, "one that is kept, and one that cannot be: both are shown"
    (name,) = [path.name for path in (demanded / "tables").iterdir()]
    (link,) = re.findall(r'href="(/release/file[^"]+)"', found)
    table = client.get(link)
    assert table.content == (demanded / "tables" / name).read_bytes()
    assert "attachment" in table.headers["content-disposition"]
    for wrong in ("tables/../certificate.json", "tables/0.csv", f"tables/x/{name}", "tables"):
        assert client.get("/release/file", params={**REF, "name": wrong}).status_code == 404
    with zipfile.ZipFile(io.BytesIO(client.get("/release/zip", params=REF).content)) as zipped:
        assert f"stays-doubles/tables/{name}" in zipped.namelist()
    assert "It holds." in ask("verify", **REF)["replace"]["verdict"]
    client.get("/language/ja")
    page = client.get("/release", params=REF).text
    assert english_in(section(page)) == []
    assert {"守られた", "判定できない"} <= set(re.findall(r'class="badge \w+">([^<]+)<', section(page)))


def test_tables_that_belong_together_cannot_demand_it_and_the_page_says_so(
    client: TestClient, site: Site, folder: Path, ask: Ask
) -> None:
    write_families(folder / "clinic", 120)
    ask("draft", t="clinic/", what="facts", internal=True)
    ask("schema", t="clinic/", answer="confirm_all", **WHO)
    page = client.get("/schema?t=clinic/").text
    assert 'value="require"' not in page
    assert "A release of several tables cannot demand tables or criteria so far" in page
    for body in ({"answer": "require", "columns": "ward, stay"}, {"answer": "accept", "what": "rules"}):
        sent = client.post("/api/schema", json={"t": "clinic/", "in": "visits", **body, **WHO})
        assert sent.status_code == 400
        assert "tables that belong together" in sent.json()["error"]
    schema = folder / "clinic" / "clinic-tables.toml"
    whole = schema.read_text()
    schema.write_text(whole.replace("[tables.", '[[require]]\ntable = ["ward", "stay"]\n\n[tables.', 1))
    assert client.get("/schema?t=clinic/").status_code == 404, "said in one sentence, and nothing is released with it"
    schema.write_text(whole)
    outcome = done(site, pay_for(client, "clinic/"))
    assert "error" not in outcome, outcome
    page = client.get("/release?r=clinic/clinic-tables-doubles").text
    assert client.get("/release?r=clinic/clinic-tables-doubles").status_code == 200
    assert section(page) == ""


def pay_for(client: TestClient, ref: str) -> str:
    """The job of a release of these tables."""
    sent = pay(client, {"t": ref, **shown(client, t=ref)})
    assert sent.status_code == 200, sent.text
    return str(sent.json()["go"])
