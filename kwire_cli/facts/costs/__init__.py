"""Costs: which bytes belong to what, and the tables that they are added up in."""
