"""What stages hand on: the event columns, settings and errors."""
