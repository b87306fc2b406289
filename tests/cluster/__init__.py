"""A Spark cluster of its own machines, as far as one machine can be several (``__main__``)."""
