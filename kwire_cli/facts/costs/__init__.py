"""Costs: the owners of bytes, and the tables in which bytes are summed by owner."""
