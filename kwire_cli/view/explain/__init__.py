"""Explanations: how bytes become a message, step by step."""
