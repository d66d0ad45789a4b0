"""Techniques that change only when tokens come: each is proved by an intactness test."""
