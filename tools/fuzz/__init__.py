"""Generated programs: plain Python says what each must give, and every way of running it converted must agree."""
