"""The harness: which texts reach the prompt at which level (AES + HDC paper, table of H0..H4).

H0 shows everything; each further level takes one text away: the observation, the state, the hint, the
rules. The picture and the one-line task always stay. Levels are data: changing one compiles nothing.
"""

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv import text
from jaxenv.text import Text

NUM_HARNESS_LEVELS = 5


@struct.dataclass
class Texts:
    """What an environment can say about one state. Everything but the picture, the task and the rules."""

    observation: Text
    state: Text
    hint: Text


def prompt(task: str, rules: str, texts: Texts, harness: jax.Array, board: bool = False) -> Text:
    """The text of one turn at harness level int32[] (0..4), a paragraph for each text that is left. With
    `board` the observation in words stays at every level: for a policy that has it instead of the picture."""
    sections = (
        ("Board:\n", texts.observation, jnp.bool_(board) | (harness < 1)),
        ("State: ", texts.state, harness < 2),
        ("Hint: ", texts.hint, harness < 3),
        ("Rules: ", text.encode(rules), harness < 4),
    )
    parts = [text.encode(task)]
    for title, body, kept in sections:
        shown = kept & (body.length > 0)
        parts += [text.when(shown, text.encode("\n" + title)), text.when(shown, body)]
    return text.concat(*parts)
