"""From results to the report."""
