"""TRL's side of `benchmarks.grpo_step`: seconds of GRPOTrainer's steps. Runs in TRL's own environment.

Reads a `Job` as JSON from standard input; the last line it prints is a `Measured` as JSON.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass
from tempfile import TemporaryDirectory
from typing import Any

Times = list[tuple[float, float]]
"""Of every step the seconds up to the replies as texts, and from there to the new parameters."""


@dataclass(frozen=True)
class Job:
    """What both sides do."""

    directory: str
    """The model's checkpoint."""
    texts: list[str]
    """What the user says, one text a prompt."""
    prompt_ids: list[list[int]]
    """The tokens of each prompt, chat template and all."""
    group_size: int
    new_tokens: int
    learning_rate: float
    parts: int
    """Parts of the batch whose gradients are added up."""
    warm: int
    """Steps before those that count."""
    steps: int


@dataclass(frozen=True)
class Measured:
    """What TRL took, and what was measured."""

    times: Times
    versions: str


def reward(reply: str) -> float:
    """How many different characters a reply has: cheap, and not the same for all of a group."""
    return float(len(set(reply)))


def measure(job: Job) -> Measured:
    """Trains for the job's steps. Raises ValueError where prompts or replies are not the job's."""
    import torch  # pyright: ignore[reportMissingImports]
    import transformers
    import trl  # pyright: ignore[reportMissingImports]
    from datasets import Dataset  # pyright: ignore[reportMissingImports]

    class Clock(transformers.TrainerCallback):
        times: Times = []  # noqa: RUF012
        started = sampled = 0.0

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.started = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.times.append((self.sampled - self.started, time.perf_counter() - self.sampled))

    clock = Clock()

    def score(completions: list[Any], completion_ids: list[list[int]], **_: Any) -> list[float]:
        clock.sampled = time.perf_counter()
        if any(len(ids) != job.new_tokens for ids in completion_ids):
            raise ValueError(f"replies of {sorted(map(len, completion_ids))} tokens, not {job.new_tokens}")
        return [reward(message["content"]) for (message,) in completions]

    tokenizer = transformers.AutoTokenizer.from_pretrained(job.directory)
    prompts = [[{"role": "user", "content": text}] for text in job.texts]
    template = {"enable_thinking": False}
    read = tokenizer.apply_chat_template(prompts, add_generation_prompt=True, return_dict=True, **template)
    if read["input_ids"] != job.prompt_ids:
        raise ValueError("the prompts have other tokens here")
    (kind,) = transformers.AutoConfig.from_pretrained(job.directory).architectures or []
    model = getattr(transformers, kind).from_pretrained(job.directory, dtype=torch.float32)
    with TemporaryDirectory() as folder:
        config = trl.GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=len(prompts) * job.group_size // job.parts,
            gradient_accumulation_steps=job.parts,
            num_generations=job.group_size,
            max_completion_length=job.new_tokens,
            generation_kwargs={"min_new_tokens": job.new_tokens},
            chat_template_kwargs=template,
            max_steps=job.warm + job.steps,
            shuffle_dataset=False,
            learning_rate=job.learning_rate,
            lr_scheduler_type="constant",
            adam_beta2=0.99,
            epsilon=0.2,
            epsilon_high=0.28,
            beta=0.0,
            loss_type="dapo",
            scale_rewards="group",
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        every_step = Dataset.from_dict({"prompt": prompts * (job.warm + job.steps)})
        trainer = trl.GRPOTrainer(
            model, score, config, every_step, processing_class=tokenizer, callbacks=[clock]
        )
        trainer.train()
    versions = f"trl {trl.__version__}, transformers {transformers.__version__}, torch {torch.__version__}"
    return Measured(clock.times[job.warm :], versions)


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Job(**json.load(sys.stdin))))))
