"""Generator functions: what yields stays Python, the rest is converted."""

from tests.corpus import program


@program(examples=[(2.0,), (-2.0,)])
def generator_with_a_branch(x):
    def pieces(value):
        for k in range(3):
            if value > 0:
                value = value * 2
            else:
                value = value - 1
            yield value + k

    return list(pieces(x))


@program(examples=[(2.0,), (-2.0,)])
def class_made_inside(x):
    class Scaler:
        factor = 3.0

        def apply(self, value):
            if value > 0:
                return value * self.factor
            return value

    return Scaler().apply(x)


@program(examples=[(2.0,), (-2.0,)])
def annotated_assignment(x):
    total: float = 0.0
    if x > 0:
        total: float = x * 2
    return total


@program(examples=[(2.0,)])
def default_arguments_and_late_binding(x):
    late = [lambda: k for k in range(3)]
    early = [lambda k=k: k for k in range(3)]
    if x > 1:
        x = x + late[0]() * 10 + early[0]()
    return x
