"""The sources that bytes come from."""
