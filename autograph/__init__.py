"""Plain Python control flow, compiled to one XLA program: ``tf.function`` and AutoGraph on JAX.

>>> import autograph as ag, jax.numpy as jnp
>>> @ag.function
... def collatz(n):
...     steps = 0
...     while n != 1:
...         if n % 2 == 0:
...             n = n // 2
...         else:
...             n = 3 * n + 1
...         steps += 1
...     return steps
>>> int(collatz(jnp.array(27)))
111
"""

from autograph._api import Assert as Assert
from autograph._api import convert as convert
from autograph._api import do_not_convert as do_not_convert
from autograph._api import function as function
from autograph._api import grad as grad
from autograph._api import load as load
from autograph._api import load_ipython_extension as load_ipython_extension
from autograph._api import operators as operators
from autograph._api import range as range
from autograph._api import to_code as to_code
from autograph._api import to_graph as to_graph
from autograph._api import value_and_grad as value_and_grad
from autograph._verbosity import set_verbosity as set_verbosity
from autograph._verbosity import trace as trace
from autograph.runtime import checkpoints as checkpoints
from autograph.runtime import optim as optim
from autograph.runtime import random as random
from autograph.runtime import summary as summary
from autograph.runtime.concrete import ConcreteFunction as ConcreteFunction
from autograph.runtime.custom_derivatives import custom_gradient as custom_gradient
from autograph.runtime.custom_derivatives import recompute_grad as recompute_grad
from autograph.runtime.custom_derivatives import stop_gradient as stop_gradient
from autograph.runtime.dataset import Dataset as Dataset
from autograph.runtime.eagerness import functions_run_eagerly as functions_run_eagerly
from autograph.runtime.eagerness import run_functions_eagerly as run_functions_eagerly
from autograph.runtime.effects import numpy_function as numpy_function
from autograph.runtime.effects import print as print
from autograph.runtime.effects import py_function as py_function
from autograph.runtime.errors import ConversionError as ConversionError
from autograph.runtime.errors import InvalidArgumentError as InvalidArgumentError
from autograph.runtime.errors import LoadError as LoadError
from autograph.runtime.errors import SavedError as SavedError
from autograph.runtime.errors import StagingError as StagingError
from autograph.runtime.errors import StagingWarning as StagingWarning
from autograph.runtime.errors import TargetError as TargetError
from autograph.runtime.features import Feature as Feature
from autograph.runtime.function import Function as Function
from autograph.runtime.graph import Graph as Graph
from autograph.runtime.library_table import register_library as register_library
from autograph.runtime.module import Module as Module
from autograph.runtime.one_of import OneOf as OneOf
from autograph.runtime.operators.loop_options import set_loop_options as set_loop_options
from autograph.runtime.operators.recursion_limit import recursion_limit as recursion_limit
from autograph.runtime.optional import Optional as Optional
from autograph.runtime.progress import progress as progress
from autograph.runtime.saving.saved import save as save
from autograph.runtime.tape import GradientTape as GradientTape
from autograph.runtime.tensor_array import TensorArray as TensorArray
from autograph.runtime.tensor_spec import TensorSpec as TensorSpec
from autograph.runtime.variables import Variable as Variable

__version__ = "0.1.0"

__all__ = [
    "Assert",
    "ConcreteFunction",
    "ConversionError",
    "Dataset",
    "Feature",
    "Function",
    "GradientTape",
    "Graph",
    "InvalidArgumentError",
    "LoadError",
    "Module",
    "OneOf",
    "Optional",
    "SavedError",
    "StagingError",
    "StagingWarning",
    "TargetError",
    "TensorArray",
    "TensorSpec",
    "Variable",
    "checkpoints",
    "convert",
    "custom_gradient",
    "do_not_convert",
    "function",
    "functions_run_eagerly",
    "grad",
    "load",
    "load_ipython_extension",
    "numpy_function",
    "operators",
    "optim",
    "progress",
    "py_function",
    "random",
    "recompute_grad",
    "recursion_limit",
    "register_library",
    "run_functions_eagerly",
    "save",
    "set_loop_options",
    "set_verbosity",
    "stop_gradient",
    "summary",
    "to_code",
    "to_graph",
    "trace",
    "value_and_grad",
]
