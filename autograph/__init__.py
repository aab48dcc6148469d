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
from autograph.runtime import summary as summary
from autograph.runtime.code.features import Feature as Feature
from autograph.runtime.code.library_table import register_library as register_library
from autograph.runtime.containers.tensor_array import TensorArray as TensorArray
from autograph.runtime.data.dataset import Dataset as Dataset
from autograph.runtime.effects.callbacks import numpy_function as numpy_function
from autograph.runtime.effects.callbacks import print as print
from autograph.runtime.effects.callbacks import py_function as py_function
from autograph.runtime.errors import ConversionError as ConversionError
from autograph.runtime.errors import InvalidArgumentError as InvalidArgumentError
from autograph.runtime.errors import LoadError as LoadError
from autograph.runtime.errors import SavedError as SavedError
from autograph.runtime.errors import StagingError as StagingError
from autograph.runtime.errors import StagingWarning as StagingWarning
from autograph.runtime.errors import TargetError as TargetError
from autograph.runtime.function.concrete import ConcreteFunction as ConcreteFunction
from autograph.runtime.function.eagerness import functions_run_eagerly as functions_run_eagerly
from autograph.runtime.function.eagerness import run_functions_eagerly as run_functions_eagerly
from autograph.runtime.function.function import Function as Function
from autograph.runtime.function.graph import Graph as Graph
from autograph.runtime.gradients import optim as optim
from autograph.runtime.gradients.custom_derivatives import custom_gradient as custom_gradient
from autograph.runtime.gradients.custom_derivatives import recompute_grad as recompute_grad
from autograph.runtime.gradients.custom_derivatives import stop_gradient as stop_gradient
from autograph.runtime.gradients.tape import GradientTape as GradientTape
from autograph.runtime.layouts.dict_by_path import DictByPath as DictByPath
from autograph.runtime.layouts.one_of import OneOf as OneOf
from autograph.runtime.layouts.optional import Optional as Optional
from autograph.runtime.saving import checkpoints as checkpoints
from autograph.runtime.saving.saved import save as save
from autograph.runtime.signatures.tensor_spec import TensorSpec as TensorSpec
from autograph.runtime.staging.policy.loop_options import set_loop_options as set_loop_options
from autograph.runtime.staging.policy.recursion_limit import recursion_limit as recursion_limit
from autograph.runtime.staging.statements.progress import progress as progress
from autograph.runtime.state import random as random
from autograph.runtime.state.module import Module as Module
from autograph.runtime.state.variables import Variable as Variable

__version__ = "0.1.0"

__all__ = [
    "Assert",
    "ConcreteFunction",
    "ConversionError",
    "Dataset",
    "DictByPath",
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
