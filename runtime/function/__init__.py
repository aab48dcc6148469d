"""`Function` and `ConcreteFunction`: dispatch, the cache of programs, captures, ahead-of-time stages."""
