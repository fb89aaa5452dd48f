"""`python -m app`: the same as the command `specfleet`."""

from app.main import main

if __name__ == "__main__":
    main()
