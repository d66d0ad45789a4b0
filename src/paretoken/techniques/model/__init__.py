"""Techniques that may change which tokens come: each is proved by a behaviour gate."""
