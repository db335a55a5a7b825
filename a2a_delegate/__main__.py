"""`python -m a2a_delegate` is the command `a2a-delegate`."""

from a2a_delegate.cli import main

if __name__ == "__main__":
    main()
