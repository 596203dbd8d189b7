"""Declarations lowered into programs, one kernel that runs them, spans, trees."""
