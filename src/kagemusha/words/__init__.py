"""Sentences of pages in the reader's language."""
