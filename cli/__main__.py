"""``python -m seqaudit.cli`` is the command ``seqaudit``."""

from seqaudit.cli.main import main

main()
