"""Costs in bytes: overhead, messages and records in other forms, proposals, and advice."""
