"""Variables and the objects that hold them: `Variable`, `Module`, random numbers, the state of other libraries."""
