"""`python -m pysync` is `pysync`."""

from pysync.cli import main

if __name__ == "__main__":
    main()
