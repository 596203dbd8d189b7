"""Text forms of bytes."""
