"""Programs lowered for GPUs: nothing in them is another platform's."""

from __future__ import annotations

import re

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.targets.programs import Spec, corpus, kinds

OWN = {"cuda": re.compile(r"cu[a-z]*_\w+"), "rocm": re.compile(r"hip[a-z]*_\w+"), "cpu": re.compile(r"lapack_\w+")}
# A program of the corpus in four: `make test-tpu` compiles all.
PROGRAMS = [*corpus()[::4], *(target for target in kinds() if target.chips.endswith("1x1"))]


def custom_calls(function, arguments, platform):
    text = function.lower(*arguments, platforms=[platform]).as_text()
    return set(re.findall(r"custom_call @(\w+)", text)) | set(re.findall(r'call_target_name = "(\w+)"', text))


@pytest.mark.parametrize("platform", ["cuda", "rocm"])
@pytest.mark.parametrize("target", PROGRAMS, ids=lambda target: target.name)
def test_only_what_the_platform_has_is_called(target, platform):
    found = custom_calls(target.function, target.arguments, platform)
    assert all(OWN[platform].fullmatch(name) for name in found), found


@pytest.mark.parametrize("platform", OWN)
def test_such_calls_would_be_seen(platform):
    values = ag.function(lambda x: jnp.linalg.eigvalsh(x @ x.T))
    found = custom_calls(values, [Spec((8, 8), jnp.float32)], platform)
    assert found and all(OWN[platform].fullmatch(name) for name in found), found
