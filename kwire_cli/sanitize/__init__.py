"""Captures and segments with replaced names and values, so that they can be shared. The structure is not changed."""
