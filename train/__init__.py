"""The trainer: everything that knows about a language model."""

import os

# transformers tells whoever imports it that torch is missing; nothing here wants torch.
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
