"""The construct declarations: every layout on the wire, each declared once."""
