"""How messages without version and flags begin, behind leading byte, flags and UUID (jgroups.md
1.10)."""

OF_MPING = 65542 * 65536 + 53  # one header; its protocol and class id
OF_FD_SOCK2 = 65607 * 65536 + 93
