"""From doubles to an answer to the question whether the target was in the table."""
