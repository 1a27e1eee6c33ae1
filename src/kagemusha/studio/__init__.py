"""A custodian makes a release in a browser: one local page over the same functions that the commands call."""
