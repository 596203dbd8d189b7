"""Questions: each is a file of SQL over the tables, with its text beside it."""
