"""How bytes become a message, told to a reader who has never seen the format: each field's bytes, the rules that read them, and what follows."""
