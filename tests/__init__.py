"""Tests; the folders mirror src/paretoken."""
