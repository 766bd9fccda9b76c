"""config.json of a run's directory: written once at its start, and all that a resume reads."""

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar

FILE = "config.json"
Config = TypeVar("Config")


def check_new(out: Path) -> None:
    """Raises FileExistsError if the directory already holds a run."""
    if (out / FILE).exists():
        raise FileExistsError(f"out: {out} already holds a run; use --resume {out} or another --out")


def write_config(config: Any) -> None:
    """Writes a config, a dataclass, to its directory `out`. A relative path of its `model` becomes absolute,
    so that a resume from another folder finds it."""
    raw = dataclasses.asdict(config)
    if Path(config.model).is_dir():
        raw["model"] = str(Path(config.model).resolve())
    config.out.mkdir(parents=True, exist_ok=True)
    (config.out / FILE).write_text(json.dumps(raw, indent=2, default=str) + "\n")


def read_config(kind: type[Config], run_dir: Path) -> Config:
    """The config of a run, wherever its directory is now. Raises FileNotFoundError, ValueError."""
    file = run_dir / FILE
    if not file.is_file():
        raise FileNotFoundError(f"resume: {run_dir} holds no run (no {FILE})")
    raw = json.loads(file.read_text())
    try:
        return _build(kind, raw | {"out": run_dir, "resume": None})
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"resume: {file} does not fit this version of jaxenv ({error}); start a new run"
        ) from None


def _build(kind: Any, raw: dict[str, Any]) -> Any:
    """A dataclass of JSON's objects and lists."""
    nested = {
        field.name: field.type for field in dataclasses.fields(kind) if dataclasses.is_dataclass(field.type)
    }
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}
    return kind(**values | {name: _build(inner, raw[name]) for name, inner in nested.items()})
