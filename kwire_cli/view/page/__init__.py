"""The page: a single HTML file with a time axis, and tabs for findings, groups and frames."""
