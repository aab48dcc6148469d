"""An exception that several handlers are given in turn, and raise again, carries its values to each."""

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def through_a_finally(n, w):
    k = n * 2
    try:
        if n > 5:
            raise ValueError
        try:
            w[n]
        except Exception:
            raise IndexError(f"no element {n}")
        finally:
            k = k + n
    except LookupError:
        raise
    except ValueError:
        pass
    return k


def through_three_handlers(n, w):
    k = 0
    try:
        try:
            try:
                if n > 2:
                    raise KeyError(n * 2)
                k += w[n]
            except LookupError:
                k += 1
                raise
            finally:
                k += n
        except KeyError:
            if n > 4:
                raise
            k += 10
        finally:
            w[0] = k
    except LookupError as error:
        return k + w[0] + error.args[0]
    return k + w[0]


def written_in_a_finally(n, w):
    doubled = w * 2
    try:
        assert n, "zero"
        try:
            assert doubled[n], "no element"
        except Exception as error:
            raise IndexError("again") from error
        finally:
            w[n] += 4
            doubled[2] = n
    except LookupError:
        raise
    except AssertionError:
        pass
    return w, doubled


def kept_and_raised_again(n, w):
    kept, k = None, 0
    for i in ag.range(3):
        try:
            try:
                if n > i:
                    raise ValueError(n + i)
            except ValueError as error:
                kept = error
                raise
            finally:
                k += 1
        except ValueError as error:
            k += error.args[0]
    return k, 0 if kept is None else kept.args[0]


PROGRAMS = [through_a_finally, through_three_handlers, written_in_a_finally, kept_and_raised_again]
W = np.array([3, -2, -2])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 3, 4, 5, 6])
def test_as_in_python(program, n):
    run = ag.function(program)
    try:
        wanted = program(n, W.copy())
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            run(jnp.array(n), jnp.asarray(W))
        if "out of bounds" not in str(error):
            assert str(caught.value) == str(error)
    else:
        found = run(jnp.array(n), jnp.asarray(W))
        for one, other in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
            np.testing.assert_array_equal(one, other)
