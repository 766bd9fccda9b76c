"""Where rounds are kept, each in its folder, in files that people read too:

RUN/rounds/round_1/prompt.txt     what the engineer was told (empty for a round that asked nobody)
                   reply.txt      what it answered, character by character
                   config.yaml    the configuration the round trains with
                   proposal.json  where the configuration came from; written last, it marks a whole proposal
                   not_met.txt    what the generator could not meet of it, a line each
                   outcome.json   statistics of training and the evaluation; it marks a finished round
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from train.engineering.records import Outcome, Proposal, Round
from train.engineering.reply import read_config

PROPOSAL, OUTCOME = "proposal.json", "outcome.json"


def write_proposal(run_dir: str | Path, number: int, proposal: Proposal) -> None:
    """Keep how round `number` came by its configuration, before it trains. An older one is replaced."""
    folder = _folder(run_dir, number)
    folder.mkdir(parents=True, exist_ok=True)
    for marker in (OUTCOME, PROPOSAL):  # of a round that is being done again
        (folder / marker).unlink(missing_ok=True)
    _write(folder / "prompt.txt", proposal.prompt)
    _write(folder / "reply.txt", proposal.reply)
    _write(folder / "config.yaml", proposal.config.to_yaml())
    _write(folder / PROPOSAL, _json({"origin": proposal.origin, "reason": proposal.reason}))


def write_outcome(run_dir: str | Path, number: int, outcome: Outcome) -> None:
    """Keep what round `number` came to; its proposal is kept already."""
    _write(_folder(run_dir, number) / OUTCOME, _json(outcome.to_json()))


def write_not_met(run_dir: str | Path, number: int, lines: Sequence[str]) -> None:
    """Keep what the generator could not meet of a round's configuration."""
    _write(_folder(run_dir, number) / "not_met.txt", "".join(f"{line}\n" for line in lines))


def read_proposal(run_dir: str | Path, number: int) -> Proposal | None:
    """The proposal kept for round `number`, None where there is no whole one: a round to go on with.

    Raises ValueError naming the file that is damaged.
    """
    folder = _folder(run_dir, number)
    if not (folder / PROPOSAL).exists():
        return None
    try:
        config = read_config(_read(folder / "config.yaml"))
        how = json.loads(_read(folder / PROPOSAL))
        texts = {name: _read(folder / f"{name}.txt") for name in ("prompt", "reply")}
        return Proposal(config, how["origin"], how["reason"], **texts)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise ValueError(f"{folder}: {error}; remove the folder to ask for this round again") from error


def read_rounds(run_dir: str | Path) -> list[Round]:
    """The finished rounds of a run, from round 0 to the last before one that is missing or unfinished.

    Raises ValueError naming the folder of a round that is damaged.
    """
    rounds: list[Round] = []
    while (path := _folder(run_dir, len(rounds)) / OUTCOME).exists():
        proposal = read_proposal(run_dir, len(rounds))
        if proposal is None:
            break
        try:
            outcome = Outcome.from_json(json.loads(_read(path)))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: {error}; remove it to train this round again") from error
        rounds.append(Round(len(rounds), proposal, outcome))
    return rounds


def _folder(run_dir: str | Path, number: int) -> Path:
    return Path(run_dir) / "rounds" / f"round_{number}"


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2) + "\n"


def _write(path: Path, text: str) -> None:
    """The whole text or, after a kill, none of it; its line ends and half surrogates as they are."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(text.encode("utf-8", "surrogatepass"))
    os.replace(new, path)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogatepass")
