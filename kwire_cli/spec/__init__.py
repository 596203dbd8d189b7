"""Message definitions: versions, model, JSON text, loader, rule books, catalogue."""
