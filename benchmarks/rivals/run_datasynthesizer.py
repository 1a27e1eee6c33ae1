"""Run DataSynthesizer's PrivBayes on a table of codes (in its own environment)."""

import json
import os
import sys
import tempfile

import numpy as np
import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

job = json.loads(sys.argv[1])
codes = np.load(job["codes"])
names = [f"c{i}" for i in range(codes.shape[1])]
frame = pd.DataFrame(codes, columns=names).map(lambda code: f"v{code}")
with tempfile.TemporaryDirectory() as folder:
    table, description = os.path.join(folder, "t.csv"), os.path.join(folder, "d.json")
    frame.to_csv(table, index=False)
    describer = DataDescriber(category_threshold=1000)
    describer.describe_dataset_in_correlated_attribute_mode(
        dataset_file=table,
        epsilon=job["epsilon"],
        k=2,
        attribute_to_is_categorical=dict.fromkeys(names, True),
        attribute_to_is_candidate_key=dict.fromkeys(names, False),
        attribute_to_datatype=dict.fromkeys(names, "String"),
        seed=job["seed"],
    )
    describer.save_dataset_description_to_file(description)
    generator = DataGenerator()
    generator.generate_dataset_in_correlated_attribute_mode(len(frame), description, seed=job["seed"])
    double = generator.synthetic_dataset[names].map(lambda text: int(str(text)[1:]))
np.save(job["out"], double.to_numpy().astype(np.int64))
