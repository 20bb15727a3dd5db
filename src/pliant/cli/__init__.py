"""The command ``pliant``. Nothing heavy is imported before a command needs it."""

from pliant.cli.app import app as app
from pliant.cli.app import main as main
