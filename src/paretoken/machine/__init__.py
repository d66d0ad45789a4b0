"""The machine under everything: its cores and quota, its name, its limits, and who else is using it.

It measures and describes; it judges nothing.
"""
