"""Messages: decoded, encoded, with their headers, in frames."""
