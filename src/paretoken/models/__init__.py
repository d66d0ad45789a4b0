"""Model files: find, fetch, fingerprint, read their headers safely, and remember what was made from what.

Knows no engine, and never runs what a model file holds: weights are read as numbers, templates as text.
"""
