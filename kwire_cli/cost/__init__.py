"""What bytes cost."""
