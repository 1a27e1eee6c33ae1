"""Run one of our synthesizers on a table of codes: a real release, with exact noise and a ledger in memory."""

import json
import sys

import numpy as np
import pyarrow as pa

from kagemusha.privacy.budget import Budget
from kagemusha.schema import Integer, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

job = json.loads(sys.argv[1])
codes = np.load(job["codes"])
names = [f"c{i}" for i in range(codes.shape[1])]
schema = Schema([Integer(name, lower=0, upper=size - 1) for name, size in zip(names, job["sizes"], strict=True)])
# from lists: arrow would load pandas to look at numpy arrays, and nothing here needs it
table = pa.table({name: codes[:, i].tolist() for i, name in enumerate(names)})
# AIM with the fit as its paper prints it
method, options = ("aim", {"weights": "paper"}) if job["method"] == "aim-printed" else (job["method"], {})
model = fit(create(method, **options), table, Budget(job["epsilon"], job["delta"]), schema=schema)
np.save(job["out"], model.sample_codes(len(codes)))
