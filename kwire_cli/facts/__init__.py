"""Tables of facts: what questions in SQL read."""
