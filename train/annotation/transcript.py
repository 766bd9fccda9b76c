"""An episode as an annotator reads it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """What the policy was told, what it answered and what became of the answer."""

    told: str
    reply: str
    outcome: str


@dataclass(frozen=True)
class Transcript:
    """An episode of an environment by the strong or the weak policy, of at least one step."""

    env_id: str
    strong: bool
    success: bool
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        steps = (
            f"Step {n}\n{step.told}\nAnswer: {step.reply}\nOutcome: {step.outcome}"
            for n, step in enumerate(self.steps, 1)
        )
        ending = "solved" if self.success else "not solved"
        return "\n\n".join([f"Task {self.env_id}", *steps, f"The episode ends: {ending}."])
