"""Changes of definitions: the differences of two, and whether users of one can talk with users of the other."""
