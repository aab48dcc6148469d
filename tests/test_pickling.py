"""Functions that travel: pickle, cloudpickle and joblib, and copies of them."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
import textwrap

import cloudpickle
import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import pickled_functions
from tests.rooms import ROOT

SCRIPT = """
import os, sys
import cloudpickle, jax.numpy as jnp
import autograph as ag

LIMIT = 3.0

def lowered(x):
    if x > LIMIT:
        return x - 1
    return x

@ag.function(static_argnums=(1,), cache_limit=7)
def scaled(x, n=2):
    '''Of the script.'''
    if isinstance(n, int) and x > 1:
        x = lowered(x) * n
    return x

@ag.function
def halved(x, depth=3):
    if depth == 0:
        return x
    y = halved(x, depth - 1)
    if y > 2:
        y = y - 1
    return y * 2

@ag.convert
def tens(x):
    if x > LIMIT:
        return lowered(x) * 10
    return x

@ag.function(autograph=False)
def plain(x):
    return x if x > 0 else -x

class Meter:
    def __init__(self):
        self.level = ag.Variable(3.0)

    @ag.function
    def raised(self, x):
        if x > 0:
            self.level.assign_add(x)
        return self.level * x

def adder(k):
    @ag.function
    def added(x):
        if x > 0:
            return x + k
        return added.python_function(-x) if k < 0 else x
    return added

if __name__ == "__main__":
    sent = {
        "scaled": scaled, "halved": halved, "tens": tens, "plain": plain, "raised": Meter().raised, "Meter": Meter,
        "added": adder(4.0), "twice": ag.function(lambda x: x * 2 if x > 1 else x), "raw": halved.python_function, "both": [scaled, scaled],
    }
    with open(sys.argv[1], "wb") as file:
        file.write(cloudpickle.dumps(sent))
    os.remove(__file__)  # the process that is sent to has no such file
"""


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """What a script, which is gone, has sent whole from its `__main__`."""
    folder = tmp_path_factory.mktemp("sent")
    script, file = folder / "script_that_sends.py", folder / "sent.pickle"
    script.write_text(textwrap.dedent(SCRIPT))
    subprocess.run([sys.executable, str(script), str(file)], check=True, cwd=ROOT, timeout=300)
    assert not script.exists()
    return pickle.loads(file.read_bytes())


def values(function, *xs):
    return [float(function(jnp.float32(x))) for x in xs]


def test_functions_of_main_are_sent_whole(received):
    scaled = received["scaled"]
    assert scaled.__doc__ == "Of the script." and scaled.__name__ == "scaled" and scaled.__module__ == "__main__"
    assert values(scaled, 0.5, 2, 5) == [0.5, 4, 8]
    assert float(scaled(jnp.float32(5), 3)) == 12


def test_what_is_sent_knows_the_file_that_it_is_from(received):
    function = received["scaled"]
    values(function, 5)
    helper = function.python_function.__globals__["lowered"]
    for each in (function.python_function, helper, received["Meter"].__dict__["raised"].python_function):
        assert each.__code__.co_filename.endswith("script_that_sends.py")


def test_options_go_along(received):
    both = received["both"]
    assert both[0] is both[1]
    assert both[0]._options.cache_limit == 7
    with pytest.raises(jax.errors.TracerBoolConversionError):
        received["plain"](jnp.float32(1))


def test_a_function_that_calls_itself_is_one_function_there(received):
    halved = received["halved"]
    assert halved.python_function.__globals__["halved"] is halved
    assert values(halved, 0.5, 5) == [4, 26]
    assert values(received["raw"], 0.5, 5) == [4, 26]


def test_closures_and_lambdas_are_sent_whole(received):
    assert values(received["added"], -1, 2) == [-1, 6]
    assert values(received["twice"], 0.5, 2) == [0.5, 4]


def test_converted_functions_of_main_stage_there(received):
    assert values(jax.jit(received["tens"]), 2, 5) == [2, 40]
    assert ag.convert(received["tens"]) is received["tens"]


def test_methods_take_their_instance_along(received):
    raised = received["raised"]
    assert values(raised, 1, 2) == [4, 12]
    assert values(received["Meter"]().raised, 1) == [4]


@pytest.mark.parametrize(
    ("dumps", "protocol"),
    [*((pickle.dumps, k) for k in range(pickle.HIGHEST_PROTOCOL + 1)), (cloudpickle.dumps, 4), (cloudpickle.dumps, 5)],
)
def test_importable_functions_are_sent_by_name(dumps, protocol):
    for function in (pickled_functions.shrunk, pickled_functions.magnitude):
        assert pickle.loads(dumps(function, protocol)) is function
    partial = pickle.loads(dumps(functools.partial(pickled_functions.shrunk, times=1), protocol))
    assert partial.func is pickled_functions.shrunk and float(partial(jnp.float32(8))) == 4


def test_a_function_of_another_name_is_made_again():
    sent = pickle.loads(pickle.dumps(pickled_functions.compiled_steps))
    assert sent.python_function is pickled_functions.steps
    assert int(sent(jnp.int32(40))) == pickled_functions.steps(40)
    assert int(cloudpickle.loads(cloudpickle.dumps(pickled_functions.converted_steps))(jnp.int32(40))) == 5


def test_a_module_that_cannot_be_imported_there_is_sent_whole():
    cloudpickle.register_pickle_by_value(pickled_functions)
    try:
        data = cloudpickle.dumps(pickled_functions.shrunk)
    finally:
        cloudpickle.unregister_pickle_by_value(pickled_functions)
    sent = pickle.loads(data)
    assert sent is not pickled_functions.shrunk
    assert values(sent, 0.5, 8) == values(pickled_functions.shrunk, 0.5, 8) == [0.5, 2]


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_methods_with_their_variables(copied):
    account = pickled_functions.Account(1.0)
    add = copied(account.add)
    assert values(add, 2, -1) == [3, 3] and float(account.total.value) == 1
    assert add.instance.add == add
    doubled = copied(account.doubled)
    assert values(doubled, 2, -1) == [4, -1]
    other = copied(account)
    other.total.assign(5.0)
    assert values(other.stored, 2) == [20] and values(account.stored, 2) == [4]


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_the_method_of_a_base_class(copied):
    child = pickled_functions.Child(1.0)
    add = copied(super(pickled_functions.Child, child).add)
    assert values(add, 2) == [3] and values(copied(child.add), 2) == [-3]


def test_copies_are_traced_by_themselves():
    function = ag.function(lambda x: x + 1 if x > 0 else x)
    function(jnp.float32(1))
    for other in (copy.copy(function), copy.deepcopy(function)):
        assert other is not function and other.python_function is function.python_function
        assert values(other, 1) == [2] and other.experimental_get_tracing_count() == 1
    assert copy.deepcopy(pickled_functions.magnitude) is pickled_functions.magnitude


def test_a_concrete_function_is_not_pickled():
    concrete = pickled_functions.shrunk.get_concrete_function(jnp.float32(1))
    for dumps in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(TypeError, match="cannot pickle the ConcreteFunction shrunk.*Pickle the Function"):
            dumps(concrete)
    assert copy.copy(concrete) is copy.deepcopy(concrete) is concrete


def test_what_load_gives_is_not_pickled(tmp_path):
    ag.save(ag.function(lambda x: x + 1, [ag.TensorSpec([])]), tmp_path / "saved")
    loaded = ag.load(tmp_path / "saved")
    with pytest.raises(TypeError, match=r"cannot pickle.*load it there"):
        pickle.dumps(vars(loaded)["__call__"])


def test_functions_of_no_name_have_pickles_own_error():
    for function in (ag.function(lambda x: x), ag.convert(lambda x: x)):
        with pytest.raises((pickle.PicklingError, AttributeError), match="[Cc]an't (get|pickle)"):
            pickle.dumps(function)


def test_an_unpickled_function_is_no_trap_for_attributes():
    sent = pickle.loads(pickle.dumps(pickled_functions.compiled_steps))
    assert not hasattr(sent, "nothing_of_this_name")
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        sent.nothing_of_this_name  # noqa: B018
    assert sent.__name__ == "steps" and repr(sent) == "<autograph.Function steps>"


def test_workers_of_joblib():
    joblib = pytest.importorskip("joblib")

    @ag.function
    def local(x):
        if x > 2:
            return pickled_functions.shrunk(x)
        return x

    results = joblib.Parallel(n_jobs=2)(joblib.delayed(local)(jnp.float32(x)) for x in (1.0, 8.0))
    assert list(map(float, results)) == [1, 2]
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(pickled_functions.shrunk)(jnp.float32(x)) for x in (1.0, 8.0))
    assert list(map(float, results)) == [1, 2]
