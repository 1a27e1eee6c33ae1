"""Run one of dpmm's models on a table of codes (in dpmm's own environment)."""

import json
import sys

import numpy as np
import pandas as pd

job = json.loads(sys.argv[1])
codes = np.load(job["codes"])
names = [f"c{i}" for i in range(codes.shape[1])]
frame = pd.DataFrame(codes, columns=names)
domain = dict(zip(names, job["sizes"], strict=True))
state = np.random.RandomState(job["seed"])
if job["method"] in ("aim", "aim-regrouped"):
    from dpmm.models.aim import AIMGM as Model
elif job["method"] == "mst":
    from dpmm.models.mst import MSTGM as Model
else:
    from dpmm.models.priv_bayes import PrivBayesGM as Model
extra = {"n_jobs": 1} if job["method"] != "priv-bayes" else {}
if job["method"] == "aim-regrouped":
    from dpmm_sums import install

    install()
model = Model(epsilon=job["epsilon"], delta=job["delta"], domain=domain, random_state=state, **extra)
model.fit(frame)
double = model.generate(n_records=len(frame))[names]
np.save(job["out"], double.to_numpy().astype(np.int64))
