"""Table 4: how good the doubles of each synthesizer are, by models that learn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.attacks.table import Coarse, GameTable, World
from kagemusha.evaluation.ml_utility import classify
from kagemusha.progress import Progress, silent
from kagemusha.quality.projectable import CodedTable
from kagemusha.reproduce.mia_games import Adult
from kagemusha.reproduce.mia_paper import TABLE_4

ROWS = {"svm": 5_000}


QualityRow = tuple[str, str, Sequence[float]]
"""Trained on, learner, accuracy on each of repeated halves."""


def quality(data: Adult, makers: Mapping[str, Maker], *, repeat: int, progress: Progress = silent) -> list[QualityRow]:
    """Synthesise one half, learn from it, test on the other half; real rows and the commonest answer beside it."""
    attacked = ("bayes-net", "ctgan", "dp-bn", "privbayes", "kage")
    tried: dict[str, Maker | None] = {"real": None, "stat": Method("stat", schema=data.coarse)}
    tried |= {name: makers[name] for name in attacked if name in makers}
    coarse = Coarse(data.table.schema, data.coarse)
    codes = coarse.down(data.table.codes)
    found: dict[str, list[Mapping[str, float]]] = {name: [] for name in (*tried, "majority")}
    for run in range(repeat):
        order = np.random.default_rng([9, run]).permutation(len(codes))
        first, second = np.array_split(order, 2)
        test = CodedTable.of_codes(data.coarse, codes[second])
        for i, (name, maker) in enumerate(tried.items()):
            progress(f"learning from {name}", (run + i / len(tried)) / repeat)
            rows = codes[first]
            if maker is not None:
                half = GameTable(data.table.schema, data.table.codes[first])
                sampler = maker.fit(World(half), rng=np.random.default_rng([9, run, i]))
                doubles = sampler.sample(half.rows, rng=np.random.default_rng([9, run, i, 1])).codes
                assert doubles is not None
                rows = coarse.down(doubles)
            train = CodedTable.of_codes(data.coarse, rows)
            scores = classify(train, test, data.income, models=tuple(TABLE_4), rows=ROWS, seed=run)
            found[name].append({learner: float(scores[learner]["accuracy"]) for learner in TABLE_4})
        truth = test.column(data.income)
        share = float(
            (truth == np.bincount(codes[first][:, data.table.schema.domain.axis(data.income)]).argmax()).mean()
        )
        found["majority"].append(dict.fromkeys(TABLE_4, share))
    return [(name, learner, [run[learner] for run in runs]) for name, runs in found.items() for learner in TABLE_4]
