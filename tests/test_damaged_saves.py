"""Directories that `load` must refuse: damaged, foreign, of another version, or leading out of themselves."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.saving.directory import Reading
from tests.saved_models import Network, edit, refused

FILES = ("manifest.json", "program-0.stablehlo", "variables.safetensors")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    network = Network()
    network.predict(jnp.ones((2, 3)))
    path = tmp_path_factory.mktemp("good") / "model"
    ag.save(network, path)
    return path


@pytest.fixture
def model(good, tmp_path):
    return shutil.copytree(good, tmp_path / "model")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing(model, name):
    (model / name).unlink()
    refused(model, name, "missing")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_a_file_that_is_cut(model, name, part):
    file = model / name
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * part)])
    refused(model, name)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_bit_that_is_flipped(model, name):
    file = model / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    refused(model, name, "SHA-256")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_too_long(model, name):
    with open(model / name, "ab") as file:
        file.truncate(2**33)  # sparse
    refused(model, name)


def test_a_letter_of_the_manifest(model):
    file = model / "manifest.json"
    file.write_text(file.read_text().replace('"layers"', '"lagers"'))
    refused(model, "manifest.json", "checksum")


def test_what_is_no_save_at_all(tmp_path):
    refused(tmp_path / "nothing", "no such directory")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "not a directory")
    refused(tmp_path, "manifest.json", "missing")
    for text in ("", "[]", "{}", '{"format": "tensorflow"}', "\x00", "[" * 100_000, "1" * 10_000):
        (tmp_path / "manifest.json").write_text(text)
        refused(tmp_path, "manifest.json")


@pytest.mark.parametrize("version", [0, 1, 2, 4, "3", None, True])
def test_another_version_of_the_format(model, version):
    file = model / "manifest.json"
    body = json.loads(file.read_text())
    body["version"] = version
    file.write_text(json.dumps(body))
    refused(model, "manifest.json", "version")


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/b", "..", ".hidden", "", "a\0b", "program-0.stablehlo/.."]
)
def test_a_path_that_leads_out(model, name):
    (model.parent / "secret").write_bytes((model / "program-0.stablehlo").read_bytes())

    def change(body):
        body["files"][name] = body["files"]["program-0.stablehlo"]
        body["programs"][0]["file"] = name

    edit(model, change)
    refused(model, "manifest.json", "not the name of a file")


@pytest.mark.parametrize("name", FILES)
def test_links_are_not_followed(model, name):
    target = model.parent / "elsewhere"
    os.rename(model / name, target)
    (model / name).symlink_to(target)
    refused(model, name, "link")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file(model, make):
    (model / "variables.safetensors").unlink()
    make(model / "variables.safetensors")
    refused(model, "variables.safetensors")


def _set(*path_and_value):
    *path, value = path_and_value

    def change(body):
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = value

    return change


def _attribute(form, *slots):
    return _set("objects", 0, "parts", "x", {"form": form, "slots": list(slots)})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_set("variables", 0, "shape", [3]), "variables.safetensors"),
        (_set("variables", 0, "shape", [2**39, 2**39]), "variables.safetensors"),
        (_set("variables", 0, "dtype", "int32"), "variables.safetensors"),
        (_set("variables", 0, "dtype", "object"), "dtype"),
        (_set("variables", 0, "tensor", "other"), "other"),
        (_set("variables", 0, "tensor", "steps"), "one tensor"),
        (_set("programs", 0, "state", [99]), "variables[99]"),
        (_set("programs", -1, "state", []), "writes more than it reads"),
        (_set("programs", -1, "written", 0), "results"),
        (_set("programs", 0, "specs", []), "slot"),
        (_set("programs", 0, "specs", 0, "shape", [3, 3]), "inputs"),
        (_set("programs", 0, "specs", 0, "shape", None), "inputs"),
        (_set("programs", 0, "specs", 0, "shape", [None, 3]), "inputs"),
        (_set("programs", 0, "specs", 0, "dtype", "int32"), "inputs"),
        (_set("programs", 0, "outputs", 7), "results"),
        (_set("programs", 0, "results", ["slot", 3]), "results"),
        (_set("programs", 0, "results", ["eval", "1"]), "not a kind of value"),
        (_set("programs", 0, "results", ["same", 0]), "not there"),
        (_set("programs", 0, "results", ["oneof", ["slot", 0], []]), "not which"),
        (_set("programs", 0, "results", ["oneof", ["none"], [["none"], ["none"]]]), "not which"),
        (_set("programs", 0, "results", ["oneof", [["slot", 0]], [["none"]]]), "oneof"),
        (_set("programs", 0, "results", ["namedtuple", "P", ["x", "def"], [["none"], ["none"]]]), "field"),
        (_set("programs", 0, "results", ["namedtuple", "P; import os", ["x"], [["none"]]]), "name"),
        (_set("programs", 0, "results", ["dict", [[["list", []], ["none"]]]]), "keys"),
        (_set("programs", 0, "results", ["int", "9" * 5000]), "not an int"),
        (_set("programs", 0, "arguments", ["tuple", []]), "arguments"),
        (_set("programs", 0, "platforms", ["tpu"]), "in its file, and not here"),
        (_set("programs", 0, "file", "variables.safetensors"), "variables.safetensors"),
        (_set("programs", 0, "specs", 0, "dtype", "key<a>"), "specs[0].dtype"),
        (_set("functions", 0, "programs", [7]), "programs[7]"),
        (_set("functions", 0, "programs", []), "belongs to no function"),
        (_set("functions", 0, "parameters", []), "arguments"),
        (_set("functions", 0, "parameters", 0, "name", "a b"), "name"),
        (_set("functions", 0, "parameters", 0, "kind", "exec"), "kind"),
        (_set("objects", []), "no object"),
        (_attribute(["slot", 0], ["object", 77]), "objects[77]"),
        (_attribute(["slot", 0], ["call", "os.system"]), "not a part"),
        (_attribute(["slot", 1], ["variable", 0]), "not a natural number"),
        (_attribute(["set", [["slot", 0]]], ["variable", 0]), "set"),
        (_attribute(["slot", 0], ["array", 0, "numpy"]), "no numpy array"),
        (_attribute(["slot", 0], ["array", 0, "pickle"]), "none of"),
        (_set("objects", 0, "parts", "x", ["slot", 0]), "not a dict"),
        (_set("objects", 0, "random", "threefry2x32"), "random"),
        (_set("signatures", {"a": 12}), "programs[12]"),
        (_set("captured", [-1]), "captured"),
        (_set("variables", 0, "hidden", True), "which is hidden"),
        (_set("extra", 1), "extra"),
    ],
)
def test_a_manifest_that_lies(model, change, text):
    edit(model, change)
    assert text in refused(model)


@pytest.mark.parametrize("key", ["outputs", "written", "derivatives"])
def test_a_large_number_takes_no_memory(model, key):
    import tracemalloc

    edit(model, lambda body: body["programs"][-1].update({key: 2**31}))
    tracemalloc.start()
    try:
        if key != "derivatives":
            refused(model, "manifest.json")
        else:
            ag.load(model)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_a_program_that_is_none(model):
    content = b"\x08\x00\x00\x00" + bytes(range(200))
    (model / "program-0.stablehlo").write_bytes(content)
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    edit(model, _set("files", "program-0.stablehlo", entry))
    refused(model, "program-0.stablehlo", "jax.export")


def test_texts_that_would_be_long(tmp_path):
    @ag.function(input_signature=[ag.TensorSpec([])])
    def f(x):
        if x > 0:
            raise ValueError(f"{x:.1f} is positive")
        return x

    ag.save(f, tmp_path / "f")
    argument = ("programs", 0, "errors", 0, "raised", "arguments", 1, 0)
    for part in ([0, "s", "9" * 20], [0, "s", "1001d"], [3, "s", ""], [0, "x", ""]):
        edit(tmp_path / "f", _set(*argument, ["text", [part]]))
        refused(tmp_path / "f", "manifest.json")
    edit(tmp_path / "f", _set(*argument, ["text", [[0, "s", ""], " it is"]]))
    with pytest.raises(ValueError, match=r"^2.0 it is$"):
        ag.load(tmp_path / "f")(2.0)
    for line in (0, 10**9, -1):
        edit(tmp_path / "f", _set("programs", 0, "errors", 0, "line", line))
        refused(tmp_path / "f", "manifest.json")


def test_a_traceback_reads_no_file_that_a_save_names(tmp_path):
    @ag.function(input_signature=[ag.TensorSpec([])])
    def f(x):
        assert x < 0
        return x

    ag.save(f, tmp_path / "f")
    secret = tmp_path / "secret.py"
    secret.write_text("the secret\n")
    edit(tmp_path / "f", _set("programs", 0, "errors", 0, "file", str(secret)))
    edit(tmp_path / "f", _set("programs", 0, "errors", 0, "line", 1))
    import traceback

    try:
        ag.load(tmp_path / "f")(2.0)
    except AssertionError:
        assert "the secret" not in traceback.format_exc() and "secret.py" in traceback.format_exc()
    else:
        raise AssertionError("it did not raise")


def test_nothing_beside_the_directory_is_opened(model):
    ag.load(model)  # what is imported for it is imported now
    opened = []
    watching = [True]

    def watch(event, arguments):
        if watching and event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    try:
        ag.load(model)
    finally:
        watching.clear()
    names = {str(model), *FILES, *(f"program-{k}.stablehlo" for k in range(9))}
    files = {name for name in opened if not name.isdigit()}  # a digit: one that is open already
    assert files and files <= names, opened


def test_the_error_of_a_file_is_closed(model):
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    (model / "program-0.stablehlo").unlink()
    for _ in range(3):
        refused(model)
    assert not before or len(set(os.listdir("/proc/self/fd"))) <= len(before)
    with Reading(model) as directory, pytest.raises(ag.LoadError):
        directory.content("..", 10)
