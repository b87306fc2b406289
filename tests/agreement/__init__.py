"""What the engines report against what the real systems recorded (CONTRIBUTING.md 4)."""
