"""What carries a TCP stream: link layers, IP, tunnels, TCP and UDP headers."""
