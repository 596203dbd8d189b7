"""Questions about traffic, logs and definitions: one file or folder each, with folds and their reports."""
