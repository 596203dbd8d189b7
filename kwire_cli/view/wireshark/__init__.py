"""A dissector for Wireshark: the layouts of all messages as text, and the Lua code that decodes bytes with them."""
