"""The report's first page: what the numbers mean, in words."""

from __future__ import annotations

import json
from dataclasses import dataclass

from kagemusha.evaluation.evaluate import Evaluation
from kagemusha.evaluation.learners import in_words
from kagemusha.evaluation.ml_utility import Utility
from kagemusha.evaluation.weighted import Weighted


@dataclass(frozen=True)
class Figure:
    """One number for the top of the page."""

    name: str
    value: str
    meaning: str


def percent(share: float, digits: int = 1) -> str:
    """A share as people read it."""
    return f"{100 * share:.{digits}f} %"


def verdict(evaluation: Evaluation) -> str:
    """The whole in a sentence or two: how far counts can be believed, and whether single rows can."""
    error = evaluation.kway[min(2, max(evaluation.kway))].mean
    counts = (
        "Counts over one or two columns follow the real table closely."
        if error <= 0.05
        else "Counts over one or two columns follow the real table in the large; look at small groups with care."
        if error <= 0.15
        else "Counts over one or two columns follow the real table only roughly."
    )
    return " ".join([counts, *_about_rows(evaluation)])


def _about_rows(evaluation: Evaluation) -> list[str]:
    judged = evaluation.discriminator
    if judged is None or judged.on == "codes":
        return []
    if judged.auroc < 0.6:
        return ["Row by row, doubles can hardly be distinguished from people."]
    by = f", most of all by {judged.telling[0].feature}" if judged.telling else ""
    how = (
        "can be distinguished from people more often than by chance"
        if judged.auroc < 0.75
        else "are easily distinguished from people"
    )
    return [f"Row by row, they {how}{by}."]


def figures(evaluation: Evaluation) -> list[Figure]:
    """The headline numbers."""
    names = {1: "columns", 2: "pairs", 3: "triples"}
    found = [
        Figure(
            f"{k}-way error",
            percent(errors.mean),
            f"{percent(errors.mean / 2)} of doubles are in a wrong cell, mean over {names.get(k, f'sets of {k}')}",
        )
        for k, errors in evaluation.kway.items()
    ]
    information = evaluation.information
    if len(information.real.names) > 1:
        kept = "" if information.kept is None else f"; {percent(information.kept, 0)} of what exceeds chance is there"
        found.append(
            Figure(
                "mutual information",
                f"{information.mean_absolute_difference:.4f}",
                f"mean difference over pairs, in nats{kept}",
            )
        )
    found.append(
        Figure(
            "a query on two columns",
            f"± {percent(evaluation.queries.mean, 2)}",
            f"mean error of random counts; 95 of 100 are off by less than {percent(evaluation.queries.quantile(0.95))}",
        )
    )
    if evaluation.discriminator is not None:
        judged = evaluation.discriminator
        found.append(Figure(f"discriminator on {judged.on}", f"{judged.auroc:.2f}", judged.in_words))
    seen = evaluation.seen
    if seen is not None:
        found.append(
            Figure(
                "column shapes",
                percent(seen.column_shapes),
                "mean over columns of 1 − distance of their values, as SDMetrics takes it",
            )
        )
    if evaluation.groups.pairs:
        size = evaluation.groups.right_from
        found.append(
            Figure(
                "groups by two columns",
                "none" if size is None else f"≥ {size:,.0f}",
                "people: from this size on, nine of ten have the right number of doubles to within 10 %",
            )
        )
    if evaluation.weighted is not None:
        found += _by_weight(evaluation.weighted)
    return found


def _by_weight(weighted: Weighted) -> list[Figure]:
    """Errors of what the tables say of the population, beside those of the sample."""
    both = weighted.two_way or weighted.one_way
    plain = weighted.unweighted[1] if weighted.two_way else weighted.unweighted[0]
    return [
        Figure(
            f"{both.k}-way error by weight",
            percent(both.mean),
            f"of population shares; {percent(plain or 0.0)} over the same sets, each record counted once",
        ),
        Figure("population", f"± {percent(weighted.off)}", f"how far the sum of {weighted.column} is off"),
    ]


def sentences(evaluation: Evaluation) -> list[str]:
    """What a careful colleague would add."""
    found = [_about_columns(evaluation)]
    if 2 in evaluation.kway:
        pair, error = evaluation.kway[2].worst(1)[0]
        found.append(f"The pair {' × '.join(pair)} is kept worst: {percent(error / 2)} of doubles are in a wrong cell.")
    found += [_about_utility(one) for one in evaluation.utilities]
    found += _about_weights(evaluation)
    found += _about_gaps(evaluation)
    found += _about_values(evaluation)
    expected = evaluation.expected
    if expected is not None and expected.pairs and 2 in evaluation.kway:
        errors = dict(zip(evaluation.kway[2].cliques, evaluation.kway[2].errors, strict=True))
        held = [i.low <= errors[i.clique] <= i.high for i in expected.pairs if i.clique in errors]
        found.append(f"The publishable intervals of the release held for {sum(held)} of {len(held)} pairs.")
    return found


def _about_values(evaluation: Evaluation) -> list[str]:
    """What a reader of single rows would notice."""
    seen, found = evaluation.seen, []
    if seen is None:
        lost = {name: only[0] for name, only in evaluation.unseen.items() if only[0]}
        if not lost:
            return []
        most = max(lost, key=lambda name: lost[name])
        return [f"Codes that occur in the real table but in no double: {sum(lost.values())}, most of them in {most}."]
    broken = [rule for rule in evaluation.rules if rule.synthetic]
    if broken:
        worst = max(broken, key=lambda rule: rule.synthetic)
        found.append(
            f"Rules of the schema that doubles break: {len(broken)} of {len(evaluation.rules)}, most often "
            f"“{worst.rule}” ({worst.synthetic:,} doubles, {worst.real:,} people)."
        )
    elif evaluation.rules:
        found.append(f"No double breaks any of the {len(evaluation.rules)} rules of the schema.")
    backwards = seen.reversed
    if backwards is not None:
        found.append(
            f"{backwards.name} is below zero for {percent(backwards.negative_synthetic)} of doubles and "
            f"{percent(backwards.negative_real)} of people."
        )
    if seen.lost:
        most_lost = max(seen.columns, key=lambda column: column.lost)
        found.append(
            f"Values that people have and no double has: {seen.lost:,}, most of them in {most_lost.column} "
            f"({most_lost.lost:,}, held by {percent(most_lost.lost_share)} of people)."
        )
    if seen.invented:
        most_new = max(seen.columns, key=lambda column: (column.invented_share, column.invented))
        found.append(
            f"Values that doubles have and nobody else: {seen.invented:,}, most doubles with one in {most_new.column} "
            f"({percent(most_new.invented_share)}; {', '.join(most_new.examples[:3])})."
        )
    empty = evaluation.groups.empty
    if empty is not None and empty[1] > 0.005:
        found.append(f"{percent(empty[1])} of doubles have a combination of {' and '.join(empty[0])} that nobody has.")
    return found


def offered(evaluation: Evaluation) -> list[tuple[str, str]]:
    """What doubles do and nobody in the table, in words, and the rule against it as a schema file has it."""
    rows = max(1, evaluation.synthetic.rows)
    return [
        (
            f"{percent(one.synthetic / rows)} of doubles break what every row of the table obeys. If it must be so, "
            "add to the schema:",
            f"[[constraint]]\nrule = {json.dumps(one.rule, ensure_ascii=False)}",
        )
        for one in evaluation.offered
    ]


def _about_columns(evaluation: Evaluation) -> str:
    worst = max(evaluation.columns, key=lambda column: column.total_variation)
    if worst.total_variation < 0.02:
        return (
            f"Every column alone is right to within 2 %; the worst is {worst.column}, {percent(worst.total_variation)}."
        )
    return (
        f"The column {worst.column} is kept worst: {percent(worst.total_variation)} of its values would have to change."
    )


def _about_utility(one: Utility) -> str:
    score = one.headline
    best = max(one.synthetic, key=lambda name: one.synthetic[name][score])
    reached, people, floor = one.synthetic[best][score], one.real[best][score], one.floor[score]
    name = in_words(best, labels=one.labels)
    shown = (percent(v) if one.labels else f"{round(v, 3) + 0.0:.3f}" for v in (reached, people, floor))
    what = "accuracy" if one.labels else "R²"
    text = (
        "Predicting {} for real people: {} trained on doubles has {} {}; trained on people {}; the same answer for "
        "everybody {}."
    )
    reached_text, people_text, floor_text = shown
    return text.format(one.target, name, what, reached_text, people_text, floor_text)


def _about_weights(evaluation: Evaluation) -> list[str]:
    weighted = evaluation.weighted
    if weighted is None:
        return []
    found = [
        f"By {weighted.column} the table stands for {weighted.real:,.0f} people of the population, the doubles for "
        f"{weighted.synthetic:,.0f} (as if there were as many of them)."
    ]
    if weighted.totals:
        worst = weighted.worst[0]
        found.append(
            f"The population total that is off most: {worst.column} = {worst.label}, {worst.real:,.0f} by people and "
            f"{worst.synthetic:,.0f} by doubles."
        )
    return found


def _about_gaps(evaluation: Evaluation) -> list[str]:
    worst = evaluation.missingness.worst
    if worst is None:
        return []
    if worst.error < 0.02:
        return ["Gaps are where they were: given any other column their rate is right to within 2 %."]
    return [
        f"Gaps of {worst.column} depend on {worst.on} differently than in the real table: "
        f"their rate is off by {percent(worst.error)} on average."
    ]
