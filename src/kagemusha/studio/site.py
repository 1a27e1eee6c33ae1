"""Pages as they are rendered: templates, the reader's language, and the state that every page of a table shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kagemusha.editing.tables import guesses, parts_of, tables_of
from kagemusha.studio.calls import PAGES
from kagemusha.studio.drafts import Drafts
from kagemusha.studio.jobs import Jobs
from kagemusha.studio.labelling import Labellings
from kagemusha.studio.place import Place, Table
from kagemusha.web.access import Access
from kagemusha.web.calls import session_of
from kagemusha.web.language import language_of
from kagemusha.words.catalogue import LANGUAGES, Catalogue


class Site:
    """What all routes share."""

    def __init__(self, place: Place, access: Access, jobs: Jobs) -> None:
        self.place, self.access, self.jobs, self.drafts = place, access, jobs, Drafts(place)
        self.labellings = Labellings()
        self._opened: set[tuple[str, str]] = set()

    @cached_property
    def _pages(self) -> Environment:
        return Environment(
            loader=PackageLoader("kagemusha.studio", "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def language(self, request: Request) -> Catalogue:
        """The language that somebody chose, or else that their browser asks for."""
        return language_of(request, *PAGES)

    def html(self, template: str, say: Catalogue, /, **facts: object) -> str:
        """A template, or part of a page, as text."""
        return self._pages.get_template(f"{template}.html").render(_=say, lang=say.language, **facts)

    def page(self, request: Request, template: str, status: int = 200, /, **facts: object) -> Response:
        """A whole page for somebody who is signed in."""
        session, say = session_of(request, self.access), self.language(request)
        shared: dict[str, object] = {
            "csrf": "" if session is None else self.access.csrf(session),
            "languages": LANGUAGES,
            "folder": self.place.folder.name,
            "here": str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
            "table": None,
            "step": "",
        }
        return HTMLResponse(self.html(template, say, **{**shared, **facts}), status)

    # the marked door

    def open_door(self, session: str, table: Table) -> None:
        """Somebody asked to see what was read off this table."""
        self._opened.add((session, table.ref))

    def may_see(self, session: str, table: Table) -> bool:
        """Whether this session may see the schema: nothing in it is read off the data, or the door was opened."""
        if not self.drafts.exists(table):
            return True
        schema = self.drafts.load(table)
        taken = bool(schema.derived_facts()) or guesses(schema) > 0
        return not taken or (session, table.ref) in self._opened

    def state(self, table: Table) -> Mapping[str, Any]:
        """How far the schema of a table is."""
        declared = self.drafts.load(table)
        parts = parts_of(declared).values()
        several = tables_of(declared)
        derived = sum(len({fact.column for fact in schema.derived_facts()}) for schema in parts)
        return {
            "columns": sum(len(schema) for schema in parts),
            "derived": derived,
            "tables": len(several),
            "unsaid": sum(bool(one.derived) for one in several),
            "open": sum(len({fact.column for fact in schema.open_facts()}) for schema in parts),
            "guesses": guesses(declared),
            "undo": self.drafts.can_undo(table),
            "ready": not declared.derived_facts() and not (several and declared.open_facts()),
        }


def as_data(value: object) -> str:
    """JSON for an attribute of a page."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
