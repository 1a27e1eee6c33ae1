"""Anonymeter's nearest-neighbour distances and inference attack (in its own environment, numpy < 2)."""

import json
import sys
import time
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator
from anonymeter.neighbors.mixed_types_kneighbors import MixedTypeKNeighbors

job = json.loads(sys.argv[1])
people, others, doubles = (pd.read_csv(job[name]) for name in ("people", "others", "doubles"))
begun = time.process_time()
finder = MixedTypeKNeighbors(n_neighbors=1, n_jobs=1).fit(doubles[job["known"]])
distances, _ = finder.kneighbors(people[job["known"]], return_distance=True)
attack = InferenceEvaluator(
    ori=people, syn=doubles, control=others, aux_cols=job["known"], secret=job["secret"], n_attacks=len(people)
).evaluate(n_jobs=1)
told = {
    "distances": [float(d) for d in distances[:, 0]],
    "right": int(attack.results().n_success),
    "right without": int(attack.results().n_control),
    "seconds": time.process_time() - begun,
}
Path(job["told"]).write_text(json.dumps(told))
