"""What ``pyproject.toml`` cannot say: a build has nothing of an earlier one.

``pip install .`` leaves its copy of the sources in ``build/``, and setuptools would pack what is
still there of modules that are gone since: whoever pulls and installs again got both.
"""

import shutil

from setuptools import setup
from setuptools.command.build_py import build_py


class Afresh(build_py):
    """Copies the sources into an empty folder."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": Afresh})
