"""Lists, deques and arrays of traced length, `TensorArray`, and what a staged loop iterates over."""
