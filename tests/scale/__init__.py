"""The same decorated functions on one device, on a mesh of eight, and in two processes of four devices each.

`programs/` holds the programs, `worker.py` runs them all in one of these settings, `settings.py` starts the workers,
and `test_scale.py` compares what they found with what plain Python finds.
"""
