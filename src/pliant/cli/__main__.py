"""``python -m pliant.cli`` runs the command ``pliant``."""

from pliant.cli.app import main

main()
