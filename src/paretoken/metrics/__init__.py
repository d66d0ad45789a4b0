"""What happened, as numbers: latency, throughput, goodput, cost, utilisation, and the wait itself.

Pure functions of records: nothing here reads a file, a clock or a socket. Every figure has its interval, or null with
the reason.
"""
