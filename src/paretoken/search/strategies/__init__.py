"""One file each; the names stand in search/__init__.py."""
