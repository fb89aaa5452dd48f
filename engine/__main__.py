"""`python -m engine`: generate text, serve a trace of requests, measure."""

import sys

from engine.commands.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
