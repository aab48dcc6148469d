"""The command line, the demonstrations and the benchmarks, built on the public interface."""
