"""JGroups: its wire format over UDP and TCP."""
