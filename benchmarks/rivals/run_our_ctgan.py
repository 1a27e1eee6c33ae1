"""Train our own CTGAN on a CSV file and tell what it took."""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources import open_source
from kagemusha.synthesizers.encoded_rows import EncodedRows
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

job = json.loads(sys.argv[1])
frame = pd.read_csv(job["table"])


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


schema = Schema(
    [
        Category(name, categories=tuple(sorted(frame[name].unique())))
        if name in job["labels"]
        else Integer(name, lower=int(frame[name].min()), upper=int(frame[name].max()))
        for name in frame
    ]
)
columns, _ = open_source(frame, schema).records()
begin = cpu()
EncodedRows.of(schema, columns, np.random.default_rng(job["seed"]))
transform = cpu() - begin
begin, clock = cpu(), time.monotonic()
model = fit(create("ctgan", epochs=job["epochs"]), frame, Budget(1.0, 1e-6), schema=schema, simulation=job["seed"])
spent, wall = cpu() - begin - transform, time.monotonic() - clock
model.sample(len(frame), seed=job["seed"]).to_csv(job["out"], index=False)
Path(job["told"]).write_text(json.dumps({"transform": transform, "epoch": spent / job["epochs"], "wall": wall}))
