"""Secrets: which fields hold them, and how they are hidden."""
