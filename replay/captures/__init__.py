"""What is said of captures themselves."""
