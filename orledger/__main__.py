"""``python -m orledger``: the same as the command ``orledger``."""

from orledger.cli import main

if __name__ == "__main__":
    main(prog_name="orledger")
