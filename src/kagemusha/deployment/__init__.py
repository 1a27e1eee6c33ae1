"""What an institution writes about a release: a record for a registry, metadata, a dossier for whoever must decide."""
