"""The page that shows a traced program beside the user's source: `page.py` makes it, and its siblings what is on it."""
