"""Everything that can be measured about a synthetic table, with the real one at hand. INTERNAL: it reads real data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

import numpy as np

from kagemusha.evaluation.correlation import Correlations, compare_correlations
from kagemusha.evaluation.discriminator import Discriminator, discriminate
from kagemusha.evaluation.distances import ColumnDistance, column_distances, unseen
from kagemusha.evaluation.groups import Groups, compare_groups
from kagemusha.evaluation.kway import KwayErrors, kway_errors
from kagemusha.evaluation.learners import NAMES
from kagemusha.evaluation.missingness import Missingness, compare_missingness
from kagemusha.evaluation.ml_utility import Utility, utility
from kagemusha.evaluation.mutual_information import InformationComparison, compare_information
from kagemusha.evaluation.queries import QueryErrors, compare_queries, query, random_queries
from kagemusha.evaluation.raw import read_raw
from kagemusha.evaluation.rules import BrokenRule, broken_rules, offered_rules
from kagemusha.evaluation.seen import Seen, compare_seen
from kagemusha.evaluation.tables import read_table
from kagemusha.evaluation.weighted import Weighted, compare_weighted
from kagemusha.models.model import Model
from kagemusha.pages import card
from kagemusha.quality.expected_error import ExpectedError, expected_error
from kagemusha.quality.projectable import CodedTable, require_column, same_columns
from kagemusha.schema import Schema

INTERNAL = (
    "INTERNAL: computed from real data without a privacy charge. Similarity scores of real data leak: do not publish "
    "this, and do not keep it beside the release."
)

QUERIES = 200
"""Random queries on two columns each."""

Listener = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All measurements of one synthetic table."""

    real: CodedTable
    synthetic: CodedTable
    kway: Mapping[int, KwayErrors]
    columns: Sequence[ColumnDistance]
    unseen: Mapping[str, tuple[int, int]]
    information: InformationComparison
    correlations: Correlations
    missingness: Missingness
    queries: QueryErrors
    asked: QueryErrors
    """The queries the caller named."""
    rules: Sequence[BrokenRule]
    """Rules of the schema, and how many rows break them."""
    offered: Sequence[BrokenRule]
    """Rules that nobody declared, that all people obey and doubles do not."""
    groups: Groups
    """Groups by two columns, in codes."""
    seen: Seen | None
    """The tables value by value; None where only codes were given."""
    discriminator: Discriminator | None
    """On values where there are any, on codes otherwise; None without learning."""
    utilities: Sequence[Utility]
    weighted: Weighted | None
    """The tables by survey weight; None where the schema declares none."""
    model: Model | None
    expected: ExpectedError | None

    @property
    def schema(self) -> Schema:
        """What both tables follow."""
        return self.real.schema

    def _repr_html_(self) -> str:
        from kagemusha.evaluation.summary import figures, verdict

        return card(f"{verdict(self)} {INTERNAL}", {one.name: f"{one.value}: {one.meaning}" for one in figures(self)})

    def to_json(self) -> dict[str, Any]:
        """The numbers, for machines; still INTERNAL."""
        linear, association = self.correlations.pearson, self.correlations.association
        return {
            "INTERNAL": INTERNAL,
            "rows": {"real": self.real.rows, "synthetic": self.synthetic.rows},
            "k-way error": {
                str(k): {
                    "mean": e.mean,
                    "standard error": e.standard_error,
                    "sets": len(e.cliques),
                    "of": e.of,
                    "worst": [{"columns": list(c), "error": v} for c, v in e.worst()],
                }
                for k, e in self.kway.items()
            },
            "columns": [asdict(column) for column in self.columns],
            "unseen codes": {n: {"real only": a, "synthetic only": b} for n, (a, b) in self.unseen.items() if a or b},
            "mutual information": {
                "columns": list(self.information.real.names),
                "real": self.information.real.values.tolist(),
                "synthetic": self.information.synthetic.values.tolist(),
                "mean absolute difference": self.information.mean_absolute_difference,
                "kept": self.information.kept,
            },
            "correlation": {
                "pearson, mean absolute difference": self.correlations.difference(linear),
                "association, mean absolute difference": self.correlations.difference(association),
            },
            "missingness": asdict(self.missingness),
            "queries": {
                "mean absolute error": self.queries.mean,
                "95 % below": self.queries.quantile(0.95),
                "asked": [{**asdict(a), "error": a.error} for a in self.asked.answers],
            },
            "weighted": self.weighted.to_json() if self.weighted else None,
            "rules": [asdict(rule) for rule in self.rules],
            "rules to declare, if they are so": [asdict(rule) for rule in self.offered],
            "groups": asdict(self.groups),
            "values": self.seen.to_json() if self.seen else None,
            "discriminator": asdict(self.discriminator) if self.discriminator else None,
            "machine learning": [
                {
                    "target": u.target,
                    "synthetic": {n: dict(s) for n, s in u.synthetic.items()},
                    "real": {n: dict(s) for n, s in u.real.items()},
                    "same answer for everybody (floor)": dict(u.floor),
                }
                for u in self.utilities
            ],
        }


def evaluate(
    real: Any,
    synthetic: Any,
    schema: Schema,
    *,
    model: Model | None = None,
    targets: Sequence[str] = (),
    models: Sequence[str] = NAMES,
    queries: Sequence[str] = (),
    kmax: int = 3,
    learning: bool = True,
    rng: np.random.Generator | None = None,
    progress: Listener | None = None,
) -> Evaluation:
    """Measure a synthetic table against the real one.

    Tables are files, frames or codes. `targets` are columns to predict from the others; `queries` are conditions to
    count; `model` adds what the release itself says about its error. Without `learning` nothing is trained, and
    the extra `eval` is not needed.
    """
    rng = rng or np.random.default_rng(0)
    say = progress or (lambda what, done: None)
    say("reading", 0.0)
    people, doubles = read_table(real, schema), read_table(synthetic, schema)
    same_columns(people, doubles)
    if model is not None:
        same_columns(people, model)
    for target in targets:
        require_column(people.domain, target)
    named = [query(text, people.schema) for text in queries]
    say("counting", 0.05)
    width = len(people.domain)
    kway = {k: kway_errors(people, doubles, k, rng=rng) for k in range(1, min(kmax, width) + 1) if comb(width, k)}
    columns = column_distances(people, doubles, people.schema)
    say("relations", 0.3)
    information = compare_information(people, doubles)
    correlations = compare_correlations(people, doubles, people.schema)
    missingness = compare_missingness(people, doubles, people.schema)
    asked = compare_queries(people, doubles, named)
    random = compare_queries(people, doubles, random_queries(people.schema, QUERIES, rng=rng))
    utilities = []
    for i, target in enumerate(targets if learning else ()):
        say(f"learning {target}", 0.4 + 0.4 * i / len(targets))
        utilities.append(utility(people, doubles, target, models=models, rng=rng))
    pairs = kway[2].cliques if 2 in kway else []
    groups = compare_groups(people, doubles, pairs)
    say("looking at values, and telling doubles from people", 0.8)
    raw = [read_raw(table, schema, rng=rng) for table in (real, synthetic)]
    seen = None
    if raw[0] is not None and raw[1] is not None:
        seen = compare_seen(raw[0], raw[1], learning=learning, rng=rng)
    judged = seen.discriminator if seen else discriminate(people, doubles, rng=rng) if learning else None
    weighted = compare_weighted((real, synthetic), (people, doubles), pairs, named, rng=rng)
    say("expected error", 0.9)
    return Evaluation(
        people,
        doubles,
        kway,
        columns,
        unseen(people, doubles),
        information,
        correlations,
        missingness,
        random,
        asked,
        broken_rules(real, synthetic, schema),
        offered_rules(real, synthetic, schema),
        groups,
        seen,
        judged,
        utilities,
        weighted,
        model,
        expected_error(model, rows=doubles.rows) if model is not None else None,
    )
