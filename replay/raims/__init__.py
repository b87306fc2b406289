"""raims: windows of publishers and subscribers, losses, advisories."""
