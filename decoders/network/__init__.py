"""Links, IP and UDP: from frames to datagrams."""
