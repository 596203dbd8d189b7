"""Tables of captures made by column: many frames of one layout at a time."""
