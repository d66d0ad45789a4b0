"""`python -m paretoken` is the command `paretoken`."""

from paretoken.cli.main import main

if __name__ == "__main__":
    main()
