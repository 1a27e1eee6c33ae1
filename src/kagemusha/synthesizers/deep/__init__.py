"""The deep family: phases released as sums, then networks trained on samples, all of it declared beforehand."""
