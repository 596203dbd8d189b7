"""`python -m kwire_cli` is the kwire command."""

from kwire_cli.cli.main import main

if __name__ == "__main__":
    main()
