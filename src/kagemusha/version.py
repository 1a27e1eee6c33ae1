"""The version, where every room can read it without the front door."""

__version__ = "0.2.0"
