"""Before a release: what it will take, and which ε a wanted error needs. Reads no private data."""
