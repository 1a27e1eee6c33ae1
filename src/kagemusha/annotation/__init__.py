"""Experts label doubles instead of people: what to ask, the loop, the store, the page."""
