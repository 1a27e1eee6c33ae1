"""What leaves a database or a cluster when a table in it is read, in a sentence for plans and certificates.

It follows from the schema, from what the method asks and from nothing in the table, so that `verify` can write it
again.
"""

from __future__ import annotations

from collections.abc import Mapping

from kagemusha.schema import Schema


def rows_of(schema: Schema) -> Mapping[str, str]:
    """The columns whose values engines do not turn into codes, and why: every row with such a value comes over."""
    return {column.name: ", ".join(why) for column in schema.modelled if (why := column.read_here)}


def travels(schema: Schema, *, records: bool, discovered: bool) -> str:
    """What leaves an engine.

    `records` says whether the method reads records, `discovered` whether domains were found.
    """
    over = ["counts", *(["the values of the columns whose domain was found"] if discovered else [])]
    over += ["the codes of all rows"] if records else []
    named = "; ".join(f"{name} ({why})" for name, why in rows_of(schema).items())
    raw = "those with a value that the engine does not read (bytes, numbers or dates of unusual spelling)"
    raw += f", and those with any value in {named}" if named else ""
    whole = "" if schema.unit.column is None else "; one such row made all rows come over, to be bounded together"
    return (
        "Where the table lives, its values were turned into codes and counted. What left the engine: "
        f"{', '.join(over)}. Rows that came over as they are: {raw}{whole}."
    )


def linked(*, discovered: bool) -> str:
    """What leaves an engine where several tables belong together."""
    found = ", the values of the columns whose domain was found" if discovered else ""
    return (
        "Where the tables live, their values were turned into codes. What left the engine, to be linked and counted: "
        f"the codes of all rows, the columns that say whose each row is, and the column of their order{found}; and as "
        "they are, values that the engine does not read (bytes, numbers or dates of unusual spelling)."
    )
