"""Diagnosis: findings in captures, request logs and log directories. A rule is one file; `rules` lists them."""
