"""Timelines of consumer, share and streams groups: members, rebalances and assignments."""
