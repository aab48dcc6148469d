"""A loop primitive with forward-mode and reverse-mode derivatives of any order."""
