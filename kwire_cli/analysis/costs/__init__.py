"""Costs in bytes: ledgers, overhead, other forms, overlays, advice."""
