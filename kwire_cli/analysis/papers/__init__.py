"""The source documents held against what kwire measures."""
