"""Every rule on a capture that shows it: the table, its captures, and the tests over it."""
