"""Makes golden/smollm2.json: what transformers' greedy generation says with SmolLM2-135M-Instruct.

    /tmp/oracle/bin/pip install torch==2.13.0 transformers==5.24.0 gguf==0.19.0 accelerate tyro
    PYTHONPATH=. /tmp/oracle/bin/python tests/policy/make_golden_smollm2.py

Weights and tokens are those of `benchmarks.smollm2`; that they equal what transformers itself makes of the
GGUF file is checked here first.
"""

import json
import tempfile
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.smollm2 import convert, fetch

FILE = Path(__file__).parent / "golden" / "smollm2.json"
NEW_TOKENS = 64
PROMPTS = [
    "What is the capital of France?",
    "Write one sentence about snow.",
    "Count from 1 to 12.",
    "Walk to the gift. Board:\n. . H\nA . .\n. G .\nAnswer <answer>up</answer>, down, left or right.",
    "Name three fruits, separated by commas.",
    "Translate to French: the cat sleeps.",
    "What is 17 + 25? Answer with the number alone.",
    "Is water wet?\n\nExplain in two lines.",
    "def add(a, b):\n    # complete this Python function",
    "Größe, 漢字 und 1234567890: what languages are these?",
]


def main() -> None:
    torch.manual_seed(0)
    source = fetch()
    with tempfile.TemporaryDirectory() as directory:
        convert(source, Path(directory))
        model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(directory)
    theirs = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, theirs.state_dict()[name]), name
    reference = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    said = []
    for prompt in PROMPTS:
        chat = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokens == reference(text, add_special_tokens=False)["input_ids"], prompt
        with torch.no_grad():
            out = model.generate(torch.tensor([tokens]), max_new_tokens=NEW_TOKENS, do_sample=False)
        said.append({"prompt": prompt, "tokens": tokens, "reply": out[0, len(tokens) :].tolist()})
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    FILE.write_text(json.dumps({"meta": versions, "said": said}, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
