"""Generated programs, compared with plain Python in every way of running them."""
