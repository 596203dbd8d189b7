"""How definitions change: what differs between two of them, and whether those who use one can talk with those who use
the other.
"""
