"""Runs on several Pythons that share the tests: each test runs, and what depends on Python runs on each."""

import pytest

from tests.shares import OF_EACH_PYTHON, OF_MACHINE_CODE, OF_ONE_PYTHON, all_files, in_share


@pytest.mark.parametrize("count", [1, 2, 3])
def test_shares_hold_every_file(count):
    files = all_files()
    shares = [in_share(files, f"{number}/{count}", of_one_python=number == count) for number in range(1, count + 1)]
    assert frozenset().union(*shares) == files
    for file in files:
        held_by = sum(file in share for share in shares)
        assert held_by == (count if file.stem in OF_EACH_PYTHON else 1)


def test_the_files_that_are_named_exist():
    assert {file.stem for file in all_files()} >= OF_EACH_PYTHON | OF_ONE_PYTHON | OF_MACHINE_CODE
    assert not OF_EACH_PYTHON & OF_ONE_PYTHON


@pytest.mark.parametrize("share", ["", "0/2", "3/2", "1", "1/", "a/b"])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(ValueError, match=r"--share=.*: it is of the form K/N"):
        in_share([], share)
