"""Nigao: class means, leading directions, class covariances."""
