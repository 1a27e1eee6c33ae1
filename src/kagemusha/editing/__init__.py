"""What a person answers about a draft, and the schema that comes of it; every way to ask uses the same answers."""
