"""Costs in bytes: ledgers, overhead, other forms, overlays, and advice."""
