"""What the engines report against what the real systems recorded (design 8.1)."""
