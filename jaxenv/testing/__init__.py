"""The contract that every environment passes, callable on a user's own:

    from jaxenv.testing import check_environment

    check_environment(MyEnvironment())

Compiling is what costs, texts most of all, so all checks share one program for each function, over one batch
that holds every level, and pictures and texts are made by one of them alone.
"""

import os
import subprocess
import sys

from jaxenv.environment import Environment
from jaxenv.testing.checks import CHECKS
from jaxenv.testing.subject import Subject

__all__ = ["CHECKS", "Subject", "check_environment", "check_imports"]


def check_environment(env: Environment) -> None:
    """Runs every check on one environment; raises AssertionError at the first that fails."""
    if type(env).__module__ != "__main__":
        check_imports(type(env).__module__)
    subject = Subject(env)
    for check in CHECKS:
        check(subject)


def check_imports(*modules: str) -> None:
    """Importing the modules, in a fresh process, starts no JAX backend."""
    lines = [f"import {module}" for module in ("jaxenv", *modules)]
    lines += ["from jax._src import xla_bridge", "assert not xla_bridge._backends, 'a backend was started'"]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # what is found here is found there
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, env=found)
    assert done.returncode == 0, f"importing {', '.join(modules)}: {done.stderr}"
