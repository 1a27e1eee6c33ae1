"""DDI codebooks (2.x): the XML in which statistical offices and archives describe their files."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from kagemusha.errors import SchemaError
from kagemusha.facts.statement import Statement, number, whole


def ddi(text: bytes) -> Iterator[Statement]:
    """What a codebook says about each variable."""
    if b"<!ENTITY" in text or b"<!DOCTYPE" in text:
        raise SchemaError("a codebook with a document type of its own is not read")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise SchemaError(f"this is not valid XML: {error}") from None
    variables = [element for element in root.iter() if _tag(element) == "var"]
    if not variables:
        raise SchemaError("no variable is described: a DDI codebook has <var> elements")
    for variable in variables:
        yield _statement(variable)


def _statement(variable: ElementTree.Element) -> Statement:
    name = variable.get("name") or variable.get("ID") or ""
    codes = [
        "".join(code.itertext()).strip()
        for category in variable
        if _tag(category) == "catgry" and category.get("missing", "").upper() != "Y"
        for code in category
        if _tag(code) == "catValu"
    ]
    if codes:
        return Statement(name=name, kind="category", values=codes)
    form = next((one for one in variable if _tag(one) == "varFormat"), None)
    numeric = form is not None and form.get("type") == "numeric"
    bounds = next((one for one in variable.iter() if _tag(one) == "range"), None)
    if not numeric and bounds is None:
        return Statement(name=name, kind="drop", why="free text")
    lower, upper = (None, None) if bounds is None else (bounds.get("min"), bounds.get("max"))
    discrete = variable.get("intrvl") == "discrete" and (variable.get("dcml") or "0") == "0"
    if discrete:
        return Statement(name=name, kind="integer", lower=whole(lower), upper=whole(upper))
    return Statement(name=name, kind="real", lower=number(lower), upper=number(upper))


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
