"""From a candidate to a verdict: launch it, load it, judge it, and keep every step on disk."""
