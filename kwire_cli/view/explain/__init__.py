"""Explanations of messages, byte by byte."""
