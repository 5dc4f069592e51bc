"""`python -m launcher`."""

import sys


def main() -> int:
    try:
        # Imported inside `try`: it takes a second or more, and Ctrl-C may come meanwhile.
        from launcher import cli

        return cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
