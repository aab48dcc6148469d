"""The HTML page that shows a traced program beside the user's source."""
