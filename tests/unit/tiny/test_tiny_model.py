"""The tiny Qwen3-VL is an ordinary checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from PIL import Image  # noqa: E402

from webgym.train.tiny import TinySize, make_tiny  # noqa: E402
from webgym.train.tiny.tokenizer import learn_tokenizer  # noqa: E402

CALL = '<tool_call>\n{"name": "web_interaction", "arguments": {"action": "click", "element_id": 17}}\n</tool_call>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny") / "model")


def asked(processor, colour):
    picture = {"type": "image", "image": Image.new("RGB", (224, 160), colour)}
    messages = [
        {"role": "system", "content": "You work in a web browser."},
        {"role": "user", "content": [{"type": "text", "text": "Task: open “Menü”"}, picture]},
    ]
    return processor.apply_chat_template(
        messages, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )


def test_it_loads_as_any_qwen3_vl_does(folder):
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor, model = AutoProcessor.from_pretrained(folder), AutoModelForImageTextToText.from_pretrained(folder)
    assert type(model).__name__ == "Qwen3VLForConditionalGeneration"
    assert type(processor).__name__ == "Qwen3VLProcessor"
    assert sum(weight.numel() for weight in model.parameters()) < 3_000_000
    reply = model.generate(**asked(processor, "white"), max_new_tokens=3, do_sample=False)
    assert reply.max() < len(processor.tokenizer)


def test_a_screenshot_is_one_token_for_32_by_32_pixels_and_matters(folder):
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor, model = AutoProcessor.from_pretrained(folder), AutoModelForImageTextToText.from_pretrained(folder)
    white, black = asked(processor, "white"), asked(processor, "black")
    assert (white["input_ids"] == processor.image_token_id).sum() == (224 // 32) * (160 // 32)
    with torch.no_grad():
        assert not torch.allclose(model(**white).logits[0, -1], model(**black).logits[0, -1])


def test_a_prompt_has_the_wire_form_of_the_large_models(folder):
    from transformers import AutoProcessor

    processor = AutoProcessor.from_pretrained(folder)
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Hello"}]}]
    text = processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    image = "<|vision_start|><|image_pad|><|vision_end|>"
    assert text == f"<|im_start|>user\n{image}Hello<|im_end|>\n<|im_start|>assistant\n"


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_weights(folder, tmp_path):
    again, other = make_tiny(tmp_path / "again"), make_tiny(tmp_path / "other", seed=1)
    for file in sorted(path.name for path in folder.iterdir()):
        assert (again / file).read_bytes() == (folder / file).read_bytes(), file
    assert (other / "model.safetensors").read_bytes() != (folder / "model.safetensors").read_bytes()


def test_making_one_leaves_the_callers_chance_alone(tmp_path):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    make_tiny(tmp_path / "model", size=TinySize(vocabulary=400, hidden=48, layers=1, heads=2, inner=32))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("text", [CALL, "Grüße, 日本 – 12.50 €\n\t🙂", ""])
def test_every_text_survives_the_tokenizer(text):
    tokenizer = learn_tokenizer()
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_a_call_survives_a_decoder_that_drops_special_tokens_and_its_digits_are_single():
    tokenizer = learn_tokenizer()
    numbers = tokenizer(CALL)["input_ids"]
    assert tokenizer.decode(numbers, skip_special_tokens=True) == CALL
    assert {"1", "7"} <= set(tokenizer.convert_ids_to_tokens(numbers))
    assert len(numbers) < 32


def test_given_texts_make_their_words_single_tokens():
    texts = ["Opening hours of the observatory"] * 50
    known, unknown = learn_tokenizer(texts), learn_tokenizer()
    assert len(known(" observatory")["input_ids"]) == 1 < len(unknown(" observatory")["input_ids"])
