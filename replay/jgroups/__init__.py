"""JGroups: what UNICAST and MCAST share."""
