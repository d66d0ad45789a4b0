"""Frozen values that every floor speaks in. Standard library only; nothing here reads a clock, a file or a socket."""
