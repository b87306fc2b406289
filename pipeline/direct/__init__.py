"""The direct engine: the stages in this process."""
