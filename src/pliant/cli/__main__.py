"""``python -m pliant.cli`` is the command ``pliant``."""

from pliant.cli.app import main

main()
