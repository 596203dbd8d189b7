"""Keys and values of records, read with the formats and schemas that applications wrote them with."""
