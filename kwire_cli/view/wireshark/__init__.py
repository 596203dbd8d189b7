"""A dissector for Wireshark: the layouts of all messages as text, and the Lua that reads bytes by them."""
