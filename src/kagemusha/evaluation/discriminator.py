"""Can a learner tell doubles from people? 0.5 means it cannot; 1 means it always can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.evaluation.extras import need
from kagemusha.quality.projectable import CodedTable, same_columns

FOLDS = 3


@dataclass(frozen=True)
class Discriminator:
    """Cross-validated AUROC of telling real from synthetic rows."""

    auroc: float
    rows: int
    """Rows of each side that were used."""

    @property
    def in_words(self) -> str:
        """What the number means."""
        if self.auroc < 0.6:
            return "a learner can hardly tell doubles from people"
        if self.auroc < 0.75:
            return "a learner tells doubles from people more often than by chance"
        return "a learner tells doubles from people easily"


def discriminate(
    real: CodedTable, synthetic: CodedTable, *, max_rows: int = 20_000, rng: np.random.Generator | None = None
) -> Discriminator | None:
    """Train gradient boosting on equally many rows of both sides; below chance counts as chance. None: too few rows to tell."""
    same_columns(real, synthetic)
    rng = rng or np.random.default_rng(0)
    rows = min(max_rows, real.rows, synthetic.rows)
    if rows < 2 * FOLDS:
        return None
    model = need("sklearn.ensemble").HistGradientBoostingClassifier(random_state=0)
    sides = [side.sampled(rows, rng) for side in (real, synthetic)]
    x = np.concatenate([np.stack(side.columns, axis=1).astype(np.float32) for side in sides])
    y = np.repeat([0, 1], rows)
    folds = need("sklearn.model_selection").StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    chance = need("sklearn.model_selection").cross_val_predict(model, x, y, cv=folds, method="predict_proba")[:, 1]
    return Discriminator(max(0.5, float(need("sklearn.metrics").roc_auc_score(y, chance))), rows)
