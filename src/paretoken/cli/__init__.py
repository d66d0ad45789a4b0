"""The command line: main.py and one thin file a verb. Talk and progress go to stderr, the result to stdout."""
