"""What is installed here of what kwire can use, what is missing and how to get it, and whether it works."""
