"""Run AIM as its authors wrote it, on their library mbi (in its own environment).

The library's package does not hold the mechanism: MBI_MECHANISMS names the folder `mechanisms` of its repository.
"""

import itertools
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.environ["MBI_MECHANISMS"])
from aim import AIM
from mbi import Dataset, Domain

job = json.loads(sys.argv[1])
codes = np.load(job["codes"])
names = tuple(f"c{i}" for i in range(codes.shape[1]))
table = Dataset({name: codes[:, i] for i, name in enumerate(names)}, Domain(names, tuple(job["sizes"])))
mechanism = AIM(job["epsilon"], job["delta"], prng=np.random.RandomState(job["seed"]))
_, double = mechanism.run(table, [(pair, 1.0) for pair in itertools.combinations(names, 2)], num_synth_rows=len(codes))
columns = double.to_dict()
np.save(job["out"], np.column_stack([np.asarray(columns[name]) for name in names]).astype(np.int64))
