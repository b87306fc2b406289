"""raims: PGM, its messages, TCP links and RV clients."""
