"""Train the `ctgan` package on a CSV file (in its own environment) and tell what it took."""

import json
import resource
import sys
import time
from pathlib import Path

import pandas as pd
import torch
from ctgan import CTGAN
from ctgan.data_transformer import DataTransformer

job = json.loads(sys.argv[1])
torch.manual_seed(job["seed"])
frame = pd.read_csv(job["table"])
labels = job["labels"]


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


begin, clock = cpu(), time.monotonic()
transformer = DataTransformer()
transformer.fit(frame, labels)
transform = cpu() - begin
model = CTGAN(epochs=job["epochs"], verbose=False, enable_gpu=False)
begin, clock = cpu(), time.monotonic()
model.fit(frame, labels)
spent, wall = cpu() - begin - transform, time.monotonic() - clock
model.sample(len(frame)).to_csv(job["out"], index=False)
Path(job["told"]).write_text(json.dumps({"transform": transform, "epoch": spent / job["epochs"], "wall": wall}))
