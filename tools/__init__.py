"""What is built on the public face: the command line, the demonstrations, the benchmarks."""
