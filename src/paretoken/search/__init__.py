"""What to try next: spaces, strategies and when to stop. Pure: sees numbers, never an engine."""
