"""How reports are shown: tables, pages, machine formats."""
