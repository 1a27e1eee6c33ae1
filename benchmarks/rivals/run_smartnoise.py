"""Run one of smartnoise-synth's synthesizers on a table of codes (in its own environment)."""

import json
import sys

import numpy as np
import pandas as pd
from snsynth import Synthesizer

job = json.loads(sys.argv[1])
codes = np.load(job["codes"])
names = [f"c{i}" for i in range(codes.shape[1])]
frame = pd.DataFrame(codes, columns=names)
# The domain goes in as one extra pass of every code, so that no budget is spent on finding it.
synthesizer = Synthesizer.create(job["method"], epsilon=job["epsilon"], delta=job["delta"], verbose=False)
synthesizer.fit(frame, categorical_columns=names, preprocessor_eps=0.0)
double = synthesizer.sample(len(frame))[names]
np.save(job["out"], double.to_numpy().astype(np.int64))
