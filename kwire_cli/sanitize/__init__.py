"""Captures and segments rewritten so that they can be shown: nothing of what names or says anything is left, all of the
structure is.
"""
