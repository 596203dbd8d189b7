"""Streams: the tables of a folder into which captures and segments arrive, or in which they grow."""
