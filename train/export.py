"""The policy of a run as a Hugging Face directory: `python -m train.export RUN DIR`."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from train import checkpoints, grpo, run_config
from train.cli import run
from train.policy.weights import save_policy


@dataclass(frozen=True)
class ExportConfig:
    """What to write where."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a run of train.grpo; its newest whole checkpoint is taken, finished or not."""
    directory: Annotated[Path, tyro.conf.Positional]
    """New directory, as transformers' from_pretrained loads it; tensors have the types they started with."""


def main(config: ExportConfig) -> None:
    """Writes the newest checkpoint of a run as a Hugging Face checkpoint directory."""
    if config.directory.exists() and any(config.directory.iterdir()):
        raise FileExistsError(f"directory: {config.directory} is not empty; name a new one")
    settings = run_config.read_config(grpo.GRPOConfig, config.run)
    settings = dataclasses.replace(settings, mesh="")  # one device is enough to write
    agent = grpo.agent_of(settings)
    trainer = grpo.make_trainer(settings, agent)
    restored = checkpoints.restore(config.run / "checkpoints", trainer.init(settings.seed))
    policy = agent.policy._replace(params=trainer.learner.policy_params(restored.tree.learner))
    save_policy(policy, config.directory, source=agent.directory)
    print(f"{config.directory}: the policy after step {restored.step}")


if __name__ == "__main__":
    run(main, ExportConfig)
