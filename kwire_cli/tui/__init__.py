"""The terminal interface: a list of frames or batches, and what one of them holds, in linked panes. The only place that
imports textual.
"""
