"""Our metrics against those of scipy, scikit-learn and sdmetrics, where the definitions are shared."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

from kagemusha.evaluation import information_matrix, kway_errors
from kagemusha.evaluation.correlation import cramers_v, pearson
from kagemusha.evaluation.distances import column_distances, kolmogorov_smirnov, positions, total_variation, wasserstein
from kagemusha.evaluation.ml_utility import classification_scores, regression_scores
from kagemusha.marginals.information import mutual_information
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Schema

EXACT = 1e-9


def series(table: CodedTable, name: str) -> pd.Series:
    return pd.Series(table.column(name).astype(int))


def test_total_variation_is_sdmetrics_tvcomplement(real: CodedTable, synthetic: CodedTable) -> None:
    from sdmetrics.single_column import TVComplement

    for name in real.domain:
        ours = total_variation(real.project((name,)), synthetic.project((name,)))
        theirs = TVComplement.compute(series(real, name).astype(str), series(synthetic, name).astype(str))
        assert ours == pytest.approx(1 - theirs, abs=EXACT)


def test_kolmogorov_smirnov_is_sdmetrics_kscomplement_and_scipy(real: CodedTable, synthetic: CodedTable) -> None:
    from sdmetrics.single_column import KSComplement

    ours = kolmogorov_smirnov(real.project(("age",)), synthetic.project(("age",)))
    assert ours == pytest.approx(1 - KSComplement.compute(series(real, "age"), series(synthetic, "age")), abs=EXACT)
    assert ours == pytest.approx(stats.ks_2samp(real.column("age"), synthetic.column("age")).statistic, abs=EXACT)


def test_wasserstein_is_scipys(real: CodedTable, synthetic: CodedTable, schema: Schema) -> None:
    ours = wasserstein(real.project(("age",)), synthetic.project(("age",)), positions(real.modelled["age"]))  # type: ignore[arg-type]
    theirs = stats.wasserstein_distance(real.column("age").astype(float), synthetic.column("age").astype(float))
    assert ours == pytest.approx(theirs, abs=EXACT)
    by_column = {d.column: d for d in column_distances(real, synthetic, schema)}
    assert by_column["age"].wasserstein == pytest.approx(theirs / 99, abs=EXACT)
    assert by_column["sex"].wasserstein is None


def test_mutual_information_is_sklearns(real: CodedTable) -> None:
    matrix = information_matrix(real)
    for i, a in enumerate(real.domain):
        for j, b in enumerate(real.domain):
            theirs = metrics.mutual_info_score(real.column(a), real.column(b))
            assert matrix.values[i, j] == pytest.approx(theirs, abs=EXACT)
    assert mutual_information(np.outer([1, 2, 3], [4, 5.0])) == pytest.approx(0, abs=1e-12)
    # counts of a fitted model may be so small that the product of their shares is 0 as a float
    assert mutual_information(np.array([[1.0, 0.0], [0.0, 1e-200]])) == pytest.approx(0, abs=1e-12)


def test_correlations_are_scipys(real: CodedTable) -> None:
    joint = real.project(("sex", "age"))
    ours = pearson(joint, np.array([0.0, 1.0]), np.arange(100.0))
    assert ours == pytest.approx(stats.pearsonr(real.column("sex"), real.column("age")).statistic, abs=EXACT)
    table = real.project(("sex", "ward"))
    occurring = table[:, table.sum(axis=0) > 0]
    assert cramers_v(table) == pytest.approx(stats.contingency.association(occurring.astype(int)), abs=EXACT)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_kway_error_is_its_definition(real: CodedTable, synthetic: CodedTable, k: int) -> None:
    frames = [pd.DataFrame({n: t.column(n) for n in t.domain}) for t in (real, synthetic)]
    expected = []
    for clique in combinations(real.domain.names, k):
        p, q = (frame.value_counts(list(clique)) * real.rows / len(frame) for frame in frames)
        expected.append(p.sub(q, fill_value=0).abs().sum() / real.rows)
    assert kway_errors(real, synthetic, k).mean == pytest.approx(np.mean(expected), abs=EXACT)


@pytest.mark.parametrize("classes", [2, 4])
def test_classification_scores_are_sklearns(classes: int) -> None:
    rng = np.random.default_rng(3)
    truth, ranking = rng.integers(0, classes, 500), rng.random((500, classes))
    ranking /= ranking.sum(axis=1, keepdims=True)
    ours = classification_scores(truth, ranking.argmax(axis=1), ranking, np.arange(classes))
    score = ranking[:, 1] if classes == 2 else ranking
    several = {} if classes == 2 else {"multi_class": "ovr", "average": "macro"}
    assert ours["accuracy"] == pytest.approx(metrics.accuracy_score(truth, ranking.argmax(axis=1)), abs=EXACT)
    assert ours["auroc"] == pytest.approx(metrics.roc_auc_score(truth, score, **several), abs=EXACT)
    one_hot = truth if classes == 2 else np.eye(classes)[truth]
    assert ours["auprc"] == pytest.approx(metrics.average_precision_score(one_hot, score), abs=EXACT)


def test_regression_scores_are_sklearns() -> None:
    rng = np.random.default_rng(4)
    truth, guess = rng.normal(size=200), rng.normal(size=200)
    ours = regression_scores(truth, guess)
    assert ours["r2"] == pytest.approx(metrics.r2_score(truth, guess), abs=EXACT)
    assert ours["mae"] == pytest.approx(metrics.mean_absolute_error(truth, guess), abs=EXACT)
    assert ours["rmse"] == pytest.approx(metrics.root_mean_squared_error(truth, guess), abs=EXACT)
