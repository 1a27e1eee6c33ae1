"""What one person may add to a sum of gradients: at most LATTICE, in whole steps.

Written-out gradients are scaled, rounded towards zero and added as integers: exact. Factored ones are scaled and added
in doubles by one matrix product, and the sum is rounded once. There the clip is smaller by what arithmetic can add:

- rounding the sum in either world moves each of P entries by at most ½, together √P steps at most;
- a product of n rows in doubles, in any order, is off by at most n·2⁻⁵³·Σ‖aᵢ‖‖gᵢ‖, in either world. A person counts
  with no less than a sixteenth of their rows' norms added up, however these cancel, so that is at most 16·n²·2⁻⁵³
  clips: with n up to MOST_ROWS half of `FLOATING`, which leaves room for the rounding of norms and scales.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.neural.factors import Factors

CLIP_LATTICE = 2**20
"""The clip norm in steps of the lattice that gradients and noise live on."""

SAMPLE_ROWS = 1 << 18
"""Rows in one sample."""

CANCELLED = 16
"""How much longer than their sum a person's rows may be, before the sum is taken to be longer."""

FLOATING = 5e-4
"""The part of the clip kept for the arithmetic of doubles: 2·16·(2¹⁸)²·2⁻⁵³ is less than half of it."""


def clipped_sum(gradients: FloatArray, whose: IntArray, persons: int, clip: float) -> IntArray:
    """Σ over persons of their clipped gradient, in whole steps of the lattice.

    A gradient that is not a number counts as zero: a person must not be able to move the sum by more than the clip.
    """
    gradients = np.nan_to_num(gradients, nan=0.0, posinf=0.0, neginf=0.0)
    if len(whose) > persons:
        summed = np.zeros((persons, gradients.shape[1]))
        np.add.at(summed, whose, gradients)
        gradients = summed
    norms = np.sqrt(np.einsum("ij,ij->i", gradients, gradients, dtype=np.float64))
    # a hair less than one: rounding of norm and product must not lead beyond the clip
    scale = CLIP_LATTICE / clip * np.minimum(1.0, clip / np.maximum(norms, 1e-300)) * (1 - 1e-9)
    steps = np.trunc(gradients * scale[:, None])
    return np.asarray(steps.sum(axis=0), dtype=np.int64)


def factored_sum(factors: Factors, whose: IntArray, persons: int, clip: float) -> FloatArray:
    """The same from factors, in steps of the lattice, not yet rounded; no person moves it by more than the shaved clip.

    A row with a factor that is not a number, or too large to be squared, counts as zero.
    """
    layers = [
        (layer.of(factors.count), layer.slopes.astype(np.float64), layer.inputs.astype(np.float64))
        for layer in factors.layers
    ]
    usable = np.ones(factors.count)
    for rows, slopes, inputs in layers:
        wrong = ~(_usable(slopes) & _usable(inputs))
        if wrong.any():
            usable[rows[wrong]] = 0.0
            slopes[wrong] = inputs[wrong] = 0.0
    norms = np.sqrt(_squares(layers, usable, whose, persons))
    room = CLIP_LATTICE * (1 - FLOATING) - math.sqrt(factors.parameters)
    if room <= 0:
        raise ValueError("more parameters than the lattice holds")
    scale = room / clip * np.minimum(1.0, clip / np.maximum(norms, 1e-300))
    each = scale[whose] * usable
    return np.concatenate([((slopes * each[rows, None]).T @ inputs).ravel() for rows, slopes, inputs in layers])


_LARGEST = 1e60


def _usable(values: FloatArray) -> NDArray[np.bool_]:
    """Which rows are made of numbers that can be squared."""
    return np.asarray((np.abs(values) <= _LARGEST).all(axis=1))


def _squares(
    layers: list[tuple[IntArray, FloatArray, FloatArray]], usable: FloatArray, whose: IntArray, persons: int
) -> FloatArray:
    """Squared norms of the persons' gradients: ‖a‖²‖g‖² a row, and for persons of several rows Σ (aᵣ·aₛ)(gᵣ·gₛ)."""
    rowwise = np.zeros(len(whose))
    for rows, slopes, inputs in layers:
        rowwise[rows] += np.einsum("ij,ij->i", slopes, slopes) * np.einsum("ij,ij->i", inputs, inputs)
    rowwise *= usable
    if len(whose) == persons:
        return rowwise[np.argsort(whose)]
    found = np.zeros(persons)
    for rows, slopes, inputs in layers:
        owner = whose[rows]  # rows of a person lie side by side
        if not len(owner):
            continue
        starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
        for begin, end in zip(starts, np.append(starts[1:], len(owner)), strict=True):
            g = slopes[begin:end] * usable[rows[begin:end], None]
            a = inputs[begin:end]
            found[owner[begin]] += max(0.0, float(((g @ g.T) * (a @ a.T)).sum()))
    together = np.bincount(whose, np.sqrt(rowwise), minlength=persons)
    return np.maximum(found, (together / CANCELLED) ** 2)
