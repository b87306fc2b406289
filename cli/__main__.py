"""``python -m seqaudit.cli`` is the command ``seqaudit``."""

from seqaudit.cli.start import main

main()
