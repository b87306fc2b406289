"""TCP connections put together again."""
