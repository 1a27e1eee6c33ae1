"""What the P3GM paper prints: Tables 2 to 4."""

from __future__ import annotations

TABLE_3 = {
    "credit": {
        "dp-gm": (0.8805, 0.3301),
        "privbayes": (0.5520, 0.2503),
        "p3gm": (0.9232, 0.5208),
        "real": (0.9663, 0.8927),
    },
    "esr": {
        "dp-gm": (0.4911, 0.3311),
        "privbayes": (0.5377, 0.4265),
        "p3gm": (0.8243, 0.7559),
        "real": (0.8698, 0.8098),
    },
    "adult": {
        "dp-gm": (0.7806, 0.4502),
        "privbayes": (0.8530, 0.6374),
        "p3gm": (0.8321, 0.5917),
        "real": (0.9119, 0.7844),
    },
    "isolet": {
        "dp-gm": (0.4695, 0.1816),
        "privbayes": (0.5100, 0.2099),
        "p3gm": (0.6855, 0.3287),
        "real": (0.9891, 0.9623),
    },
}
"""Data set → method → mean AUROC and AUPRC of the four classifiers."""

TABLE_4 = {
    "mnist": {"vae": 0.8571, "dp-gm": 0.4973, "privbayes": 0.0970, "p3gm": 0.7946},
    "fashion": {"vae": 0.7854, "dp-gm": 0.5200, "privbayes": 0.0996, "p3gm": 0.7311},
}
"""Data set → method → accuracy of a network."""

TABLE_2 = {
    "LR": {"vae": (0.9617, 0.6542), "pgm": (0.9454, 0.6865), "p3gm": (0.9380, 0.6530)},
    "AdaBoost": {"vae": (0.9599, 0.5737), "pgm": (0.9330, 0.6528), "p3gm": (0.9146, 0.4574)},
    "GBM": {"vae": (0.9619, 0.6838), "pgm": (0.9442, 0.6734), "p3gm": (0.9221, 0.5231)},
    "XGBoost": {"vae": (0.9395, 0.2745), "pgm": (0.9321, 0.6469), "p3gm": (0.9247, 0.4824)},
}
"""Credit: classifier → method → AUROC and AUPRC."""
