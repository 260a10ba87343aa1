"""A byte-level BPE with Qwen's pre-tokenisation and special tokens, learned from the texts it is given.

Invariants. Every text survives the way there and back, for every byte has a token. A digit is a token of its own, so that
the number of an element or a coordinate is spelled the same way everywhere. The same texts and size give the same tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

END: Final = "<|endoftext|>"
TURN_END: Final = "<|im_end|>"
IMAGE: Final = "<|image_pad|>"
VIDEO: Final = "<|video_pad|>"
VISION_START: Final = "<|vision_start|>"
VISION_END: Final = "<|vision_end|>"
# In the order of the large models. Those in angle brackets alone are ordinary text to a decoder: calls must survive it.
SPECIAL: Final = (
    END, "<|im_start|>", TURN_END, "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>",
    "<|quad_start|>", "<|quad_end|>", VISION_START, VISION_END, "<|vision_pad|>", IMAGE, VIDEO,
)  # fmt: skip
PLAIN: Final = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")

# What every agent on the web reads and writes, whatever else it was shown.
BASICS: Final = (
    "system user assistant",
    '\n{"name": "web_interaction", "arguments": {"action": "click", "element_id": 1}}\n',
    '\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 500]}}\n',
    '\n{"name": "computer_use", "arguments": {"action": "scroll", "pixels": -300}}\n',
    '{"action": "type", "element_id": 2, "text": "words", "press_enter": false, "clear_first": true}',
    '{"action": "scroll", "direction": "down", "pixels": 500} {"action": "select", "option": "words"}',
    '{"action": "wait", "time": 1} {"action": "go_back"} {"action": "navigate", "url": "http://"}',
    '{"action": "answer", "text": "Done"} {"action": "hover"} {"action": "terminate", "status": "success"}',
    "You work in a web browser for a person who gave you a task. At every step you see a screenshot of the page.",
    'Task: \nWebsite: http://.localhost:8090\n\nEarlier steps:\n1. "Home": clicked element 1 → the page changed',
    'Page: Home\nAddress: http://.localhost:8090/\nElements:\n[1] link "Home"\n[2] button "Menu"\n[3] searchbox "Search"',
    "The page looks the same as before. That reply could not be read.",
    "Memory: []\nProgress: []\nIntention: look further down.\nAction: I click the link.\n",
)


def learn_tokenizer(texts: Iterable[str] = (), vocabulary: int = 2048) -> Any:
    """A tokenizer of at most `vocabulary` tokens, special ones included, as transformers knows it."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import Qwen2Tokenizer
    from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated")
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(SPECIAL) - len(PLAIN),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learner.train_from_iterator((*BASICS, *texts), trainer)
    learned = json.loads(learner.to_str())["model"]
    tokenizer = Qwen2Tokenizer(
        vocab=learned["vocab"],
        merges=[tuple(pair) for pair in learned["merges"]],
        eos_token=TURN_END,
        pad_token=END,
        model_max_length=32768,
        padding_side="left",
    )
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL], special_tokens=True)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in PLAIN])
    return tokenizer
