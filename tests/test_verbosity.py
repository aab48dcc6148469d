"""`ag.set_verbosity` and `ag.trace`: what is logged about conversion, and printing while tracing."""

import logging

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph import _verbosity


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(_verbosity._VERBOSITY, "level", None)
    monkeypatch.setattr(_verbosity._VERBOSITY, "to_stdout", False)
    monkeypatch.delenv("AUTOGRAPH_VERBOSITY", raising=False)


def halve():
    """A new function each time: conversion happens once for each."""
    source = {}
    text = "def f(x):\n    while x > 1:\n        x = x / 2\n    return x\n"
    name = f"<halve {len(_KEPT)}>"
    import linecache

    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), source)
    _KEPT.append(source["f"])
    return source["f"]


_KEPT = []


def test_nothing_is_logged_unless_asked_for(caplog):
    ag.convert(halve())(8.0)
    assert not caplog.records


def test_level_1_names_what_is_converted(caplog):
    ag.set_verbosity(1)
    ag.convert(halve())(8.0)
    (record,) = caplog.records
    assert record.name == "autograph" and record.levelno == logging.INFO
    assert record.getMessage().startswith("converted f (<halve ")


def test_level_3_shows_the_code(caplog, capsys):
    ag.set_verbosity(3, alsologtostdout=True)
    ag.convert(halve())(8.0)
    assert "ag__.while_stmt" in caplog.text and "ag__.while_stmt" in capsys.readouterr().out


def test_the_environment_says_it_unless_a_call_does(caplog, monkeypatch):
    monkeypatch.setenv("AUTOGRAPH_VERBOSITY", "1")
    ag.convert(halve())(8.0)
    assert len(caplog.records) == 1
    ag.set_verbosity(0)
    ag.convert(halve())(8.0)
    assert len(caplog.records) == 1


def test_what_cannot_be_meant(monkeypatch):
    with pytest.raises(TypeError, match="level must be an int.*got 'all'"):
        ag.set_verbosity("all")
    monkeypatch.setenv("AUTOGRAPH_VERBOSITY", "much")
    with pytest.raises(ValueError, match="AUTOGRAPH_VERBOSITY must be an int; got 'much'"):
        ag.convert(halve())(8.0)


def test_trace_prints_while_tracing(capsys):
    @ag.function
    def f(x):
        while x > 1:
            ag.trace("body", x)
            x = x / 2
        return x

    f(jnp.array(8.0))
    f(jnp.array(9.0))
    out = capsys.readouterr().out
    assert out.count("body") >= 1 and "Tracer" in out and "4.0" not in out
    ag.trace("outside", 1)
    assert capsys.readouterr().out == "outside 1\n"
