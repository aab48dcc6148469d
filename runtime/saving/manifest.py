"""The manifest of a saved directory: JSON with a schema, a version and a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from autograph.runtime.saving import raised
from autograph.runtime.saving.attributes import ARRAYS
from autograph.runtime.saving.directory import MANIFEST, Reading
from autograph.runtime.saving.dtypes import implementation
from autograph.runtime.saving.schema import (
    Fixed,
    Mapping,
    Maybe,
    OneOf,
    Unfit,
    check,
    checksum,
    dtype,
    file_name,
    identifier,
    natural,
    node,
    size,
)
from autograph.runtime.saving.structures import canonical

FORMAT = "autograph"
VERSION = 3
VARIABLES = "variables.safetensors"
_MOST = 2**26  # bytes of a manifest

_SPEC = {"shape": Maybe([size]), "dtype": dtype, "name": Maybe(str), "weak": bool}
_FILE = {"bytes": natural, "sha256": checksum}
_VARIABLE = {
    "tensor": str,
    "name": Maybe(str),
    "trainable": bool,
    "dtype": dtype,
    "shape": [natural],
    "hidden": bool,
    "sharding": Maybe({"axes": [Fixed((str, natural))], "spec": [Maybe([str])]}),
}
_KINDS = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
_PARAMETER = {"name": identifier, "kind": OneOf(_KINDS), "default": Maybe(node(0, opaque=True))}


def _function(value: Any) -> None:
    check(
        value,
        {
            "name": str,
            "doc": Maybe(str),
            "parameters": [_PARAMETER],
            "input_signature": Maybe(list),
            "specs": [_SPEC],
            "implements": Maybe(str),
            "programs": [natural],
        },
    )
    if value["input_signature"] is not None:
        check(value["input_signature"], node(len(value["specs"])), "input_signature")


def _program(value: Any) -> None:
    check(
        value,
        {
            "name": str,
            "file": file_name,
            "arguments": list,
            "specs": [_SPEC],
            "results": list,
            "weak": [natural],
            "outputs": natural,
            "state": [natural],
            "written": natural,
            "errors": [raised.admit],
            "derivatives": natural,
            "why_not": Maybe(str),
            "platforms": [str],
        },
    )
    check(value["arguments"], node(len(value["specs"]), opaque=True), "arguments")
    check(value["results"], node(value["outputs"]), "results")


_SLOT: dict[Any, tuple[Any, ...]] = {
    **dict.fromkeys(("variable", "function", "object", "program"), (natural,)),
    "array": (natural, OneOf(ARRAYS)),
}


def _slot(value: Any) -> None:
    """What is in a slot of an attribute."""
    if type(value) is not list or not value or type(value[0]) is not str or value[0] not in _SLOT:
        raise ValueError("not a part of an object")
    check(value[1:], Fixed(_SLOT[value[0]]), value[0])


def _attribute(value: Any) -> None:
    check(value, {"form": list, "slots": [_slot]})
    check(value["form"], node(len(value["slots"]), opaque=True), "form")


_BODY = {
    "made_with": {"autograph": str, "jax": str},
    "files": Mapping(_FILE),
    "variables": [_VARIABLE],
    "functions": [_function],
    "programs": [_program],
    "objects": [{"class": str, "random": Maybe(str), "parts": Mapping(_attribute)}],
    "signatures": Mapping(natural),
    "captured": [natural],
}


def text(body: dict[str, Any]) -> bytes:
    """The content of the manifest's file."""
    whole = {"format": FORMAT, "version": VERSION, "checksum": _sum(body), **body}
    return (json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _sum(body: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(body).encode("utf-8", "surrogatepass")).hexdigest()


def read(directory: Reading) -> dict[str, Any]:
    """The manifest of a directory.

    Raises:
      LoadError: there is none, or it is not what one should be.
    """
    content = directory.content(MANIFEST, _MOST)

    def wrong(what: str) -> Exception:
        return directory.error(MANIFEST, what)

    body = _parsed(content, wrong)
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise wrong("it is no manifest of a saved model")
    version = body.pop("version", None)
    if version != VERSION or type(version) is not int:
        raise wrong(f"it has version {version!r} of the format, and this autograph reads version {VERSION}")
    if body.pop("checksum", None) != _sum(body):
        raise wrong("its checksum is not that of its content: it has been changed")
    try:
        check(body, _BODY)
        _check_numbers(body)
    except (Unfit, RecursionError) as error:
        raise wrong(str(error)) from None
    return body


def _parsed(content: bytes, wrong: Callable[[str], Exception]) -> Any:
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise wrong(f"it is no JSON: {error}") from None


def _check_numbers(body: dict[str, Any]) -> None:
    """Check that what is referred to by number is there."""

    def among(number: int, what: str, where: str) -> None:
        if number >= len(body[what]):
            raise Unfit(f"{where} refers to {what}[{number}], and there are {len(body[what])}")

    def array(where: str, number: int, kind: str) -> None:
        among(number, "variables", where)
        entry = body["variables"][number]
        if not entry["hidden"] or (kind == "scalar" and entry["shape"]):
            raise Unfit(f"{where} is variables[{number}], which is no {kind} array")
        if kind != "jax" and implementation(entry["dtype"]) is not None:
            raise Unfit(f"{where} is an array of NumPy's of {entry['dtype']}")

    def variable(where: str, number: int) -> None:
        among(number, "variables", where)
        if body["variables"][number]["hidden"]:
            raise Unfit(f"{where} is variables[{number}], which is hidden")

    for number, program in enumerate(body["programs"]):
        where = f"programs[{number}]"
        for each in program["state"]:
            among(each, "variables", where)
        written = program["state"][: program["written"]]
        if len(written) < program["written"] or any(program["state"].count(each) > 1 for each in written):
            raise Unfit(f"{where} writes more than it reads, or one variable twice")
        if any(k >= program["outputs"] for k in program["weak"]):
            raise Unfit(f"{where} has no result {max(program['weak'])}")
        if program["file"] not in body["files"]:
            raise Unfit(f"{where} is in {program['file']!r}, which is not among the files")
    for number, function in enumerate(body["functions"]):
        for each in function["programs"]:
            among(each, "programs", f"functions[{number}]")
    for number, thing in enumerate(body["objects"]):
        for name, part in thing["parts"].items():
            for kind, *rest in part["slots"]:
                where = f"objects[{number}].{name}"
                if kind == "array":
                    array(where, *rest)
                elif kind == "variable":
                    variable(where, rest[0])
                else:
                    among(rest[0], f"{kind}s", where)
    for name, each in body["signatures"].items():
        among(each, "programs", f"signatures[{name!r}]")
    for each in body["captured"]:
        variable("captured", each)
    if len({variable["tensor"] for variable in body["variables"]}) != len(body["variables"]):
        raise Unfit("two variables have one tensor")
    if not body["objects"] or (body["variables"] and VARIABLES not in body["files"]):
        raise Unfit(f"there is no object, or no {VARIABLES}")
