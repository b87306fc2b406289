"""Spark: session, Java, progress."""
