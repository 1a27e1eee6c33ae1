"""The public contract: what every synthesizer must do, one of ours or of another package.

In a test of a method, one call is enough; it raises `BrokenPromise` (an AssertionError) at the first broken promise:

    def test_contract():
        check_synthesizer("my-method")

Each check is also a function of its own, for one result a promise: `@pytest.mark.parametrize("check", CHECKS)`.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.encoding import Encoder
from kagemusha.errors import UsageError
from kagemusha.models.model import Model, load_model
from kagemusha.privacy.accountants import ACCOUNTANTS
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.filter import Cost, cost_of, limit_of, schedule_limit
from kagemusha.schema import Category, Integer, Real, Schema
from kagemusha.sources import open_source
from kagemusha.sources.shuffled import Shuffled
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.registry import create

BUDGETS = (0.01, 0.1, 1.0, 10.0, 100.0)


class BrokenPromise(AssertionError):
    """A synthesizer does not do what every synthesizer must."""


def _promise(holds: bool, otherwise: str) -> None:
    # a statement of its own, since Python leaves out asserts when it optimises
    if not holds:
        raise BrokenPromise(otherwise)


def example_schema() -> Schema:
    """Four columns of different kinds, with missing values and an other bucket."""
    return Schema(
        [
            Category("sex", categories=("F", "M"), missing=True),
            Integer("age", lower=0, upper=99, bins=5),
            Real("bmi", lower=10.0, upper=60.0, bins=4, missing=True, out_of_domain="missing"),
            Category("ward", categories=("a", "b", "c")),
        ]
    )


def example_table(rows: int = 400, *, seed: int = 7) -> Any:
    """An arrow table that fits the schema, with one strong relation (sex and ward)."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    ward = np.where(sex == "F", "a", rng.choice(["b", "c"], rows))
    bmi = rng.normal(27, 6, rows)
    return pa.table(
        {
            "sex": pa.array(sex, mask=rng.random(rows) < 0.05),
            "age": pa.array(rng.integers(0, 100, rows)),
            "bmi": pa.array(bmi, mask=rng.random(rows) < 0.1),
            "ward": pa.array(ward),
        }
    )


def _fit(synthesizer: Synthesizer, table: Any, budget: Budget, seed: int | None = 0) -> Model:
    return fit(synthesizer, table, budget, schema=example_schema(), simulation=seed)


def check_samples_fit_the_schema(synthesizer: Synthesizer) -> None:
    """Sampled tables have the declared columns and codes of the domain, for any number of rows paid for."""
    model = _fit(synthesizer, example_table(), Budget(1.0, 1e-6))
    for rows in (1, 7, 1000):
        if rows > model.most_rows:
            _check_rows_refused(model, rows)
            continue
        codes = model.sample_codes(rows, rng=np.random.default_rng(0))
        _promise(codes.shape == (rows, len(model.domain)), f"{rows} rows asked for, got {codes.shape}")
        _promise(bool((codes >= 0).all()), "a negative code")
        _promise(bool((codes < np.array(model.domain.sizes)).all()), "a code outside the domain")


def _check_rows_refused(model: Model, rows: int) -> None:
    """Where only rows were released, no more of them can be had."""
    try:
        model.sample_codes(rows, rng=np.random.default_rng(0))
    except UsageError as error:
        _promise("rows" in str(error), f"{rows} rows are refused without naming them: {error}")
    else:
        _promise(False, f"{rows} rows were sampled, though `most_rows` says {model.most_rows}")


def check_same_frame_type_out(synthesizer: Synthesizer) -> None:
    """Pandas in, pandas out; polars in, polars out; arrow in, arrow out. Missing values are nulls."""
    import narwhals as nw

    table = example_table()
    frames = [table]
    for convert in (_to_pandas, _to_polars):
        frame = convert(table)
        if frame is not None:
            frames.append(frame)
    for frame in frames:
        double = _fit(synthesizer, frame, Budget(1.0, 1e-6)).sample(20, where="bmi is missing")
        _promise(type(double) is type(frame), f"{type(frame)} came in, {type(double)} came out")
        shown = nw.from_native(double, eager_only=True)
        _promise(tuple(shown.columns) == example_schema().names, f"columns {shown.columns} came out")
        _promise(shown["bmi"].null_count() == 20, "doubles drawn where bmi is missing have a bmi")


def _to_pandas(table: Any) -> Any:
    try:
        return table.to_pandas()
    except ImportError:
        return None


def _to_polars(table: Any) -> Any:
    try:
        import polars
    except ImportError:
        return None
    return polars.from_arrow(table)


def check_project_agrees_with_samples(synthesizer: Synthesizer) -> None:
    """`project` gives non-negative expected counts that sum to the total and match what is sampled."""
    model = _fit(synthesizer, example_table(), Budget(10.0, 1e-6))
    cliques = [("sex",), ("age", "ward"), ("sex", "bmi", "ward")]
    for clique, together in zip(cliques, model.project_many(cliques), strict=True):
        expected = model.project(clique)
        same = bool(np.allclose(expected, together, rtol=1e-6, atol=1e-6))
        _promise(same, f"`project` and `project_many` say different things of {clique}")
        _promise(expected.shape == model.domain.shape(clique), f"`project` of {clique} has shape {expected.shape}")
        _promise(bool((expected >= -1e-6).all()), "a negative expected count")
        _promise(
            bool(np.isclose(expected.sum(), model.generator.total, rtol=1e-6)), "a marginal does not sum to the total"
        )
        rows = min(20_000, model.most_rows)
        codes = model.sample_codes(rows, rng=np.random.default_rng(1))
        axes = [model.domain.axis(name) for name in clique]
        flat = np.ravel_multi_index(tuple(codes[:, axes].T), expected.shape)
        observed = np.bincount(flat, minlength=expected.size) / rows
        distance = np.abs(observed - expected.ravel() / expected.sum()).sum()
        _promise(distance < 0.1, f"samples and `project` disagree on {clique} by {distance:.3f}")


def check_saving_keeps_everything(synthesizer: Synthesizer) -> None:
    """A saved and loaded model gives the same rows, marginals and certificate."""
    model = _fit(synthesizer, example_table(), Budget(1.0, 1e-6))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.kage"
        model.save(path)
        again = load_model(path)
        path2 = Path(folder) / "again.kage"
        again.save(path2)
        _promise(path.read_bytes() == path2.read_bytes(), "saving twice gives different files")
    count = min(500, model.most_rows)
    first, second = (m.sample_codes(count, rng=np.random.default_rng(3)) for m in (model, again))
    _promise(bool((first == second).all()), "a loaded model samples other rows")
    same = np.allclose(model.project(("sex", "ward")), again.project(("sex", "ward")))
    _promise(same, "a loaded model expects other counts")
    _promise(again.certificate.to_json() == model.certificate.to_json(), "a loaded model has another certificate")


def check_seeded_only_as_simulation(synthesizer: Synthesizer) -> None:
    """The same simulation seed repeats exactly and its certificate says ε = ∞; a release has no seed at all."""
    table, budget = example_table(), Budget(1.0, 1e-6)
    one, two = (_fit(synthesizer, table, budget, seed=5) for _ in range(2))
    first, second = (m.sample_codes(300, rng=np.random.default_rng(0)) for m in (one, two))
    _promise(bool((first == second).all()), "a simulation did not repeat")
    _promise(not math.isfinite(one.certificate.epsilon), "a simulation claims to be private")
    released = _fit(synthesizer, table, budget, seed=None)
    private = math.isfinite(released.certificate.epsilon)
    _promise(private == synthesizer.private, "the certificate and `private` disagree")


def check_budget_is_never_passed(synthesizer: Synthesizer) -> None:
    """From ε = 0.01 to 100 and under both adjacencies, what was charged stays within the promise."""
    if not synthesizer.private:
        return
    for adjacency in Adjacency:
        if adjacency not in synthesizer.relations:
            _check_refused(synthesizer, adjacency)
            continue
        for epsilon in BUDGETS:
            budget = Budget(epsilon, 1e-6, adjacency)
            certificate = _fit(synthesizer, example_table(150), budget).certificate
            spent = sum((cost_of(e, certificate.accounting) for e in certificate.events), Cost(0))
            if ACCOUNTANTS[certificate.accounting].declared:  # the limit is the schedule that was declared
                limit = schedule_limit(budget, synthesizer.schedule_for(example_schema(), budget))
            else:
                limit = limit_of(budget, certificate.accounting)
            _promise(spent.units <= limit.units, f"ε = {epsilon}, {adjacency}: charged {spent} of {limit}")
            used = ACCOUNTANTS[certificate.accounting].epsilon(certificate.events, budget.delta)
            _promise(used <= epsilon * (1 + 1e-9), f"ε = {epsilon}, {adjacency}: used {used}")
            _promise(bool(certificate.events), "nothing was charged, so nothing can have been learned")


def _check_refused(synthesizer: Synthesizer, adjacency: Adjacency) -> None:
    """What a method cannot promise it must refuse in words, before anything is read."""
    try:
        _fit(synthesizer, example_table(150), Budget(1.0, 1e-6, adjacency))
    except UsageError as error:
        _promise("adjacency" in str(error), f"{adjacency} is refused without naming it: {error}")
    else:
        _promise(False, f"`relations` says that {adjacency} cannot be promised, and yet it was")


def check_neither_order_nor_cuts_matter(synthesizer: Synthesizer) -> None:
    """The same noise over rows that are shuffled and cut anew at every pass gives the same doubles."""
    if not synthesizer.private:
        return
    sources = [open_source(example_table(), example_schema()) for _ in range(2)]
    found = [
        fit(synthesizer, source, Budget(1.0, 1e-6), simulation=3) for source in (sources[0], Shuffled(sources[1], 11))
    ]
    rows = min(300, found[0].most_rows)
    first, second = (model.sample_codes(rows, rng=np.random.default_rng(0)) for model in found)
    _promise(bool((first == second).all()), "the order of rows, or how they were cut into batches, changed the doubles")


def check_neighbours_give_the_same_structure(synthesizer: Synthesizer) -> None:
    """Whatever one record holds, columns, types, categories and file layout stay the same."""
    import pyarrow as pa

    table = example_table(120)
    odd = pa.table(
        {
            "sex": pa.array(["unheard-of"]),
            "age": pa.array([10**9]),
            "bmi": pa.array([None], type=pa.float64()),
            "ward": pa.array([None], type=pa.string()),
        }
    )
    reference = _structure(_fit(synthesizer, table, Budget(1.0, 1e-6)))
    for neighbour in (pa.concat_tables([table, odd]), table.slice(1), pa.concat_tables([odd, table.slice(1)])):
        structure = _structure(_fit(synthesizer, neighbour, Budget(1.0, 1e-6)))
        _promise(structure == reference, "one record changed the structure")


def _structure(model: Model) -> Any:
    table = Encoder(model.schema).decode(
        np.zeros((1, len(model.domain)), dtype=np.int64), rng=np.random.default_rng(0), like="pyarrow"
    )
    return model.domain, model.schema.digest(), [(f.name, str(f.type)) for f in table.schema], model.generator.kind


def check_plan_reads_nothing(synthesizer: Synthesizer) -> None:
    """`plan` knows the split, the memory and the time from the declared domain alone."""
    cost = synthesizer.plan(example_schema().domain, Budget(1.0, 1e-6))
    _promise(cost.cells > 0, "a plan without cells")
    _promise(cost.seconds > 0, "a plan that takes no time")
    shares = sum(share for _, share in cost.steps)
    _promise(abs(shares - 1) < 1e-6 or not synthesizer.private, f"the shares of a plan sum to {shares}")


CHECKS: tuple[Callable[[Synthesizer], None], ...] = (
    check_samples_fit_the_schema,
    check_same_frame_type_out,
    check_project_agrees_with_samples,
    check_saving_keeps_everything,
    check_seeded_only_as_simulation,
    check_budget_is_never_passed,
    check_neither_order_nor_cuts_matter,
    check_neighbours_give_the_same_structure,
    check_plan_reads_nothing,
)


def check_synthesizer(synthesizer: Synthesizer | str) -> None:
    """Run every check on a synthesizer, or on the method of that name; the first broken promise is raised."""
    tried = create(synthesizer) if isinstance(synthesizer, str) else synthesizer
    for check in CHECKS:
        check(tried)
