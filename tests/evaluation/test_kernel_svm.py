"""Equal rows looked at once: the same machine as scikit-learn's own."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.svm import SVC

from kagemusha.evaluation.kernel_svm import CollapsedSVM


@pytest.mark.parametrize("labels", [2, 3])
def test_the_same_machine_as_scikit_learns(labels: int) -> None:
    rng = np.random.default_rng(labels)
    codes = rng.integers(0, 3, (600, 4))
    x = np.eye(3, dtype=np.float32)[codes].reshape(600, -1)
    y = np.where(rng.random(600) < 0.8, (codes[:, 0] + codes[:, 1]) % labels, rng.integers(0, labels, 600))
    assert len(np.unique(np.column_stack([codes, y]), axis=0)) < 300, "rows repeat"
    ours, plain = CollapsedSVM(0).fit(x, y), SVC(random_state=0).fit(x, y)
    assert len(ours._svc.support_) < len(plain.support_)
    np.testing.assert_allclose(ours.decision_function(x), plain.decision_function(x), atol=5e-3)
    sure = np.abs(np.sort(plain.decision_function(x).reshape(600, -1))[:, -1]) > 0.01
    assert (ours.predict(x) == plain.predict(x))[sure].all()


def test_one_row_of_each_is_left_as_it_is() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    np.testing.assert_allclose(
        CollapsedSVM(0).fit(x, y).decision_function(x), SVC(random_state=0).fit(x, y).decision_function(x), atol=5e-3
    )
