"""Commands: one clear line and exit code 2 for what the user can mend, a traceback for what we must."""

import sys
import warnings
from collections.abc import Callable
from typing import TypeVar

import tyro

from train.checkpoints import CheckpointError
from train.compilation import use_persistent_cache
from train.memory import keep_freed_memory
from train.policy.errors import PolicyError

Config = TypeVar("Config")


def run(main: Callable[[Config], None], config: type[Config]) -> None:
    """Parses the command line into `config` and calls `main` with it."""
    keep_freed_memory()
    use_persistent_cache()
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        main(tyro.cli(config, description=main.__doc__))
    except (PolicyError, CheckpointError, ValueError, FileNotFoundError, FileExistsError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
