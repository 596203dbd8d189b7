"""Transactions in traffic and in logs: events, a timeline of each transactional id, and the answer."""
