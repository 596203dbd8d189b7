"""Transactions in captures, request logs and logs: events, a timeline of each transactional id, and the answer."""
