"""The version, on the lowest floor: records and made files name it, and hatch reads it from here."""

__version__ = "0.1.0"
