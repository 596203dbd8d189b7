"""Two messages compared by field: what differs in value, and what only in bytes."""
