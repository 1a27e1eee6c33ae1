"""What the AIM paper prints: accuracies of Tables 2 and 3, as (mean, sd)."""

from __future__ import annotations

RUNS = 3
"""Runs behind each of the paper's numbers."""

HOURS, DAYS = 1, 2
"""“About an hour” for a run at ε = 1; at larger ε “more than two days” did not end."""

ACCURACY = {
    "adult": {
        "tree": {
            "aim-k2": (0.8190, 0.0005),
            "aim-k3": (0.8188, 0.0013),
            "aim-lap": (0.8048, 0.0224),
            "aim-noinit": (0.8157, 0.0026),
            "bayes": (0.8021, 0.0224),
        },
        "svm": {
            "aim-k2": (0.8183, 0.0025),
            "aim-k3": (0.8166, 0.0010),
            "aim-lap": (0.8040, 0.0251),
            "aim-noinit": (0.8160, 0.0004),
            "bayes": (0.8034, 0.0233),
        },
        "xgboost": {
            "aim-k2": (0.8208, 0.0021),
            "aim-k3": (0.8173, 0.0025),
            "aim-lap": (0.8036, 0.0231),
            "aim-noinit": (0.8176, 0.0017),
            "bayes": (0.8029, 0.0214),
        },
    },
    "bank": {
        "tree": {
            "aim-k2": (0.8841, 0.0008),
            "aim-k3": (0.8821, 0.0008),
            "aim-lap": (0.8787, 0.0062),
            "aim-noinit": (0.8833, 0.0016),
            "bayes": (0.8811, 0.0079),
        },
        "svm": {
            "aim-k2": (0.8847, 0.0002),
            "aim-k3": (0.8821, 0.0009),
            "aim-lap": (0.8784, 0.0064),
            "aim-noinit": (0.8846, 0.0011),
            "bayes": (0.8811, 0.0077),
        },
        "xgboost": {
            "aim-k2": (0.8841, 0.0004),
            "aim-k3": (0.8819, 0.0006),
            "aim-lap": (0.8782, 0.0058),
            "aim-noinit": (0.8841, 0.0011),
            "bayes": (0.8808, 0.0072),
        },
    },
}
