"""Messages inside the bytes of others: in fields of requests and responses, in keys and values of records."""
