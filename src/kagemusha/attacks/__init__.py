"""Attacks on what was released: how much anyone could tell about one person."""
