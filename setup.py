"""What the settings in pyproject.toml cannot say: a wheel leaves out the tools that work on the repository."""

from setuptools import setup
from setuptools.command.build_py import build_py

# They need the tests, or serve those who change the package. An installation of a checkout has them.
_OF_THE_REPOSITORY = tuple(f"autograph.tools.{name}" for name in ("bench", "conformance", "demo", "fuzz"))


class _Library(build_py):
    def finalize_options(self) -> None:
        super().finalize_options()
        if not self.editable_mode:
            self.packages = [name for name in self.packages if not name.startswith(_OF_THE_REPOSITORY)]


setup(cmdclass={"build_py": _Library})
