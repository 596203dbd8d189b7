"""Keys and values of records by the schemas that applications wrote them with."""
