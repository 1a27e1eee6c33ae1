"""From doubles to an answer: was the target in the table?"""
