"""Generated programs: plain Python says what each must give; every way of running it converted must agree."""
