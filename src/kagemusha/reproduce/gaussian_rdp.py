"""Tables 1 and 2 and Figure 2 of Miura et al. 2022, the paper's digits beside ours.

The numbers are deterministic: every printed digit must agree.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kagemusha.privacy.generation.gaussian import GaussianGeneration, Method
from kagemusha.privacy.generation.noise import NoisyGeneration
from kagemusha.privacy.generation.pld import pair_at
from kagemusha.reproduce import gaussian_rdp_more as more
from kagemusha.reproduce.claims import Claim, exact
from kagemusha.reproduce.pages import write_page
from kagemusha.reproduce.stamps import code_of
from kagemusha.reproduce.tables import markdown_table

D, SIGMA = 6, 0.01

TABLE_1 = {
    "add-remove": ("3535.17", "62.5859", "5.80644", "0.576462"),
    "replace": ("6806.72", "3263.22", "3205.81", "3200.58"),
}
TABLE_1_SIZES = (10**4, 10**5, 10**6, 10**7)

TABLE_2 = {
    10**6: {
        2: ("7.49906", "9.80164", "12.1042", "14.4068"),
        4: ("7.34149", "8.10902", "8.8766", "9.64408"),
        7: ("10.9782", "11.3620", "11.7458", "12.1295"),
        10: ("15.1698", "15.4257", "15.6815", "15.9374"),
    },
    10**7: {
        2: ("4.893309", "7.195894", "9.498479", "11.801064"),
        4: ("2.111518", "2.879047", "3.646575", "4.414104"),
        7: ("1.776821", "2.160585", "2.54435", "2.928114"),
        10: ("1.954226", "2.210069", "2.465912", "2.721754"),
    },
}
TABLE_2_DELTAS = (1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class CurveCell:
    """One number the paper prints, and ours."""

    row: str
    column: str
    paper: str
    ours: float

    @property
    def rounded(self) -> str:
        """Ours with as many decimals as the paper prints."""
        return f"{self.ours:.{len(self.paper.partition('.')[2])}f}"

    @property
    def passed(self) -> bool:
        """Whether every printed digit agrees."""
        return self.rounded == self.paper


@dataclass(frozen=True)
class Improvement:
    """A number of ours that the paper's should be improved to, with the most it may be."""

    what: str
    paper: str
    ours: float
    limit: float | None
    kind: str = "guarantee"

    @property
    def passed(self) -> bool:
        """Whether ours keeps the limit; a number without a limit is only reported."""
        return self.limit is None or self.ours <= self.limit


@dataclass(frozen=True)
class Report:
    """Everything one run produced."""

    table_1: tuple[CurveCell, ...]
    table_2: tuple[CurveCell, ...]
    beyond: tuple[Improvement, ...]
    eigenvalue: float | None = None
    """The smallest of Adult's six numbers' covariance; None without the data set."""
    files: tuple[Path, ...] = ()

    @property
    def passed(self) -> bool:
        """Every digit agrees and every limit is kept."""
        return all(cell.passed for cell in (*self.table_1, *self.table_2)) and all(c.passed for c in self.beyond)

    @property
    def claims(self) -> list[Claim]:
        """The paper's, then ours; all of them exact."""
        found = []
        for where, cells in (("Table 1", self.table_1), ("Table 2", self.table_2)):
            right = sum(cell.passed for cell in cells)
            text = "every printed digit follows from the theorems"
            found.append(exact(where, text, f"{right} of {len(cells)} numbers agree", right == len(cells)))
        found += more.claims(self.eigenvalue)
        limited = [one for one in self.beyond if one.limit is not None]
        found += [
            exact("ours", one.what, f"{one.ours:.6g}; at most {one.limit:.6g} was expected", one.passed, ours=True)
            for one in limited
        ]
        return found

    def parts(self) -> list[str]:
        """What stands below the claims."""
        cells = ("row", "column", "paper", "ours (paper's digits)", "ours", "agrees")
        improved = ("what", "kind", "paper", "ours", "at most", "kept")
        return [
            "## Table 1: (4, ε)-RDP of the whole release",
            markdown_table(cells, map(_cell_row, self.table_1)),
            "## Table 2: ε of (ε, δ)-DP under add-remove, by ε_α + log(1/δ)/(α−1)",
            markdown_table(cells, map(_cell_row, self.table_2)),
            "## Figure 2: α–ε curves of Theorems 3.1 and 3.2",
            "![α–ε curves of Theorems 3.1 and 3.2](figure-2.png)",
            "One released record, d = 6, σ = 0.01, four sizes of the table. Left add-remove, right replace; dashed: "
            "the bound over both eigenvalues, proved here.",
            "## The preliminary experiment",
            _preliminary(self.eigenvalue),
            "## Replace adjacency, where the paper's bound gives up",
            "Table 1's second row (α = 4), by Theorem 3.2 and by the bound over both eigenvalues that the paper "
            "proposes:",
            markdown_table(("n", "Theorem 3.2", "both eigenvalues", "ratio"), more.replace_rows()),
            "Table 2 under replace, which the paper does not print, by its own conversion:",
            markdown_table(("n", "α", "bound", *(f"δ = {d:.0e}" for d in more.DELTAS)), more.table_2_replace()),
            "## Monotone in α",
            _monotone(),
            "## Errata of the paper",
            "\n".join(f"- {erratum}" for erratum in more.ERRATA),
            "## Beyond the paper",
            markdown_table(improved, map(_improved_row, self.beyond)),
            "Guarantees are proved in docs/proofs/gaussian-generation-replace.md. A diagnostic is the ε of one pair of "
            "neighbours: it shows what a proof gives away and protects nobody. The paper's outlook on deep generators "
            "is not taken up: nothing here bounds the divergence of their output.",
            "The release that stands on this: docs/algorithms/gaussian-rows.md.",
        ]

    def write(self, out: Path) -> str:
        """The page and its files."""
        about = (
            f"d = {D}, σ = {SIGMA}, as many records released as the table has (m = n) unless said otherwise. "
            "Everything here is deterministic: no seed, no training, no interval. Made by `reproduce gaussian-rdp`."
        )
        return write_page(out, "gaussian-rdp", self.claims, {k: [v] for k, v in codes().items()}, about, self.parts())


def codes() -> dict[str, str]:
    """Today's digest of the code behind the page."""
    begun = [f"{__name__}:{name}" for name in ("table_1", "table_2", "beyond", "noise_claims")]
    begun += [f"{more.__name__}:{name}" for name in ("claims", "table_2_replace", "adults_own")]
    places = ("kagemusha.privacy.generation.gaussian", "kagemusha.privacy.generation.noise")
    return {"bounds": code_of(*begun, *places)}


def reproduce(out_dir: Path | str, quick: bool = False) -> Report:
    """Write tables (CSV and Markdown) and Figure 2 (PNG and SVG) to `out_dir`; `quick` leaves out the PLD."""
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    report = Report(tuple(table_1()), tuple(table_2()), tuple(beyond(quick)), more.smallest_eigenvalue())
    files = [
        _write_csv(out / "table-1.csv", report.table_1),
        _write_csv(out / "table-2.csv", report.table_2),
        _write_improved(out / "beyond.csv", report.beyond),
        *draw_figure_2(out),
        out / "report.md",
    ]
    report.write(out)
    return replace(report, files=tuple(files))


def _generation(n: int, adjacency: str, method: Method = "paper", m: int | None = None) -> GaussianGeneration:
    return GaussianGeneration(n=n, d=D, sigma=SIGMA, m=m or n, adjacency=adjacency, method=method)


def table_1() -> Iterable[CurveCell]:
    """ε of order 4 for as many records as the table has."""
    for adjacency, row in TABLE_1.items():
        for n, printed in zip(TABLE_1_SIZES, row, strict=True):
            yield CurveCell(adjacency, f"n = {n:.0e}", printed, _generation(n, adjacency).rdp(4))


def table_2() -> Iterable[CurveCell]:
    """The paper's conversion to (ε, δ)."""
    for n, rows in TABLE_2.items():
        for alpha, row in rows.items():
            for delta, printed in zip(TABLE_2_DELTAS, row, strict=True):
                ours = _generation(n, "add-remove").epsilon(delta, conversion="paper", alpha=alpha).epsilon
                yield CurveCell(f"n = {n:.0e}, α = {alpha}", f"δ = {delta:.0e}", printed, ours)


def beyond(quick: bool) -> Iterable[Improvement]:
    """What the same mechanism is worth with tighter analysis."""
    for n, limit in ((10**5, 116.0), (10**6, 11.54), (10**7, 1.154)):
        paper = TABLE_1["replace"][TABLE_1_SIZES.index(n)]
        ours = _generation(n, "replace", "two-eigenvalue").rdp(4)
        yield Improvement(f"replace, α = 4, n = {n:.0e}: both eigenvalues", paper, ours, limit)
    big = _generation(10**7, "add-remove")
    at = "n = 1e+07, δ = 1e-05"
    yield Improvement(f"add-remove, {at}: optimal conversion", "2.721754", big.epsilon(1e-5).epsilon, 2.35)
    million = _generation(10**6, "add-remove").epsilon(1e-5).epsilon
    yield Improvement("add-remove, n = 1e+06, δ = 1e-05: optimal conversion", "9.64408", million, 8.894)
    replace = _generation(10**7, "replace", "two-eigenvalue").epsilon(1e-5).epsilon
    yield Improvement(f"replace, {at}: optimal conversion", "–", replace, 3.458)
    floor = _generation(10**7, "add-remove", "floor").epsilon(1e-5).epsilon
    yield Improvement(f"add-remove, {at}: eigenvalues raised to σ, nothing assumed", "–", floor, 2.35)
    if not quick:
        yield Improvement(f"add-remove, {at}: PLD", "2.721754", big.epsilon(1e-5, conversion="pld").epsilon, 2.35)
        one_pair = pair_at(10**7, D, float(big.tau), 10**7).epsilon(1e-5)
        yield Improvement(f"add-remove, {at}: PLD of the pair r = τ", "–", one_pair, None, "diagnostic")
    yield from noise_claims()


def noise_claims() -> Iterable[Improvement]:
    """The noise multiplier on (μ, Σ) with generation ignored (exact Gaussian analysis) and counted."""
    for m, epsilon in ((10**7, 1.0), (10**7, 2.0), (10**6, 0.5), (10**6, 1.0)):
        found = NoisyGeneration(n=10**7, d=D, sigma=SIGMA, m=m).solve(epsilon, 1e-5)
        where = f"noise multiplier for ε = {epsilon:g}, δ = 1e-05, n = 1e+07, m = {m:.0e}"
        yield Improvement(f"{where}: generation ignored", "–", found.ignored_exact, None, "baseline")
        yield Improvement(
            f"{where}: counted ({found.saving_over_exact:.0%} less)", "–", found.counted, found.ignored_exact
        )


def _preliminary(eigenvalue: float | None) -> str:
    found = "not computed: it needs the data set" if eigenvalue is None else f"{eigenvalue:.4f}"
    own = "; ".join(f"{what}: ε = {epsilon:.4g}" for what, epsilon in more.adults_own())
    return (
        f"Adult's six numbers (30,162 complete training rows), scaled to [−1, 1]: the smallest eigenvalue is {found}; "
        f"the paper says {more.PRINTED_EIGENVALUE} and goes on with σ = {SIGMA}. With n = 30,162 and σ = "
        f"{more.PRINTED_EIGENVALUE} the draws are worth, at δ = 10⁻⁵: {own}. For Adult itself the mechanism is useless "
        "unless few rows are drawn."
    )


def _monotone() -> str:
    falling = more.falls()
    rest = (
        f" It falls somewhere between 1 and 20 for: {'; '.join(falling)}. A bound that falls is loose there, since a "
        f"larger order's value holds for all smaller ones."
        if falling
        else ""
    )
    return (
        f"A Rényi divergence never falls as α grows (Lemma A.1.2). Neither does any of the bounds, on 200 orders "
        f"each, but where said.{rest}"
    )


def _mark(passed: bool) -> str:
    return "yes" if passed else "**no**"


def _cell_row(cell: CurveCell) -> Sequence[str]:
    return cell.row, cell.column, cell.paper, cell.rounded, f"{cell.ours:.9g}", _mark(cell.passed)


def _improved_row(claim: Improvement) -> Sequence[str]:
    limit = "" if claim.limit is None else f"{claim.limit:.6g}"
    return claim.what, claim.kind, claim.paper, f"{claim.ours:.6g}", limit, _mark(claim.passed)


def _write_csv(path: Path, cells: Iterable[CurveCell]) -> Path:
    return _write_rows(path, ("row", "column", "paper", "rounded", "ours", "result"), map(_cell_row, cells))


def _write_improved(path: Path, claims: Iterable[Improvement]) -> Path:
    return _write_rows(path, ("what", "kind", "paper", "ours", "at_most", "result"), map(_improved_row, claims))


def _write_rows(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
    return path


def draw_figure_2(out: Path) -> list[Path]:
    """The α–ε curves of one released record, four table sizes, both adjacencies on one scale."""
    from kagemusha.reproduce.gaussian_rdp_figure import draw

    return draw(out)


def again(out: Path, what: str, count: int) -> list[bool]:
    """Nothing here takes longer than a minute: it is run again whole."""
    return []
