"""The page: one file of HTML that needs nothing else, with a time axis, and tabs for findings, groups and frames."""
