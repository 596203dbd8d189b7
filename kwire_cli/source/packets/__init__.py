"""Captures, from files to TCP streams."""
