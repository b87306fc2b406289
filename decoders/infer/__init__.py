"""Search for the sequence number of traffic that nothing recognises."""
