"""What may be concluded from a release about the population: estimates with intervals, and where none can be given."""
