"""Networks and their training. Knows no privacy and no tables; needs the extra `neural` (torch)."""
