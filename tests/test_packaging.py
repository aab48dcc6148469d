"""pyproject.toml names every package there is: one that it forgets would be missing in a wheel."""

from __future__ import annotations

import runpy
import tomllib

import pytest

import autograph as ag
from autograph.tools import cli
from tests.rooms import ROOMS, ROOT, modules

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


def test_every_package_is_installed():
    found = {
        name: path.parent.relative_to(ROOT).as_posix() for name, path in modules().items() if path.name == "__init__.py"
    }
    assert SETTINGS["package-dir"] == found
    assert set(SETTINGS["packages"]) == set(found)


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in modules().values()}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_type_checkers_are_told_that_it_is_typed():
    assert [folder for folder in ROOMS if not (ROOT / folder / "py.typed").exists()] == []


def test_the_program_that_type_checkers_read_runs():
    assert isinstance(runpy.run_path(str(ROOT / "tests" / "typed_program.py"))["scaled"], ag.Function)


def test_bench_says_where_it_is_when_only_the_wheel_is_installed(monkeypatch, capsys):
    monkeypatch.setattr(cli, "_HAS_BENCHMARKS", False)
    assert cli.main(["bench", "newton", "--repeats", "3"]) == 2
    assert capsys.readouterr().err == (
        "autograph: bench: the benchmarks are in the repository, and not in the installed package; run it in a checkout\n"
    )


@pytest.mark.parametrize("wrong", ["LISTS", [1]])
def test_a_feature_that_is_none_is_refused(wrong):
    with pytest.raises(TypeError, match="optional_features"):
        ag.convert(lambda x: x, optional_features=wrong)
    with pytest.raises(TypeError, match="optional_features"):
        ag.to_code(lambda x: x, optional_features=wrong)
