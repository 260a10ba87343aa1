"""Prompts with pictures, as episodes make them."""

from __future__ import annotations

import base64
import io

from PIL import Image

from webgym.train.serving.wire import ChatMessage


def picture(n: int, size: tuple[int, int] = (96, 64)) -> bytes:
    image = Image.new("RGB", size, (40 * n % 256, 90, 200 - 30 * n % 200))
    image.paste((255, 255, 255), (8 * (n % 8), 8, 8 * (n % 8) + 16, 24))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def url(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def said(role: str, *parts: str | bytes) -> ChatMessage:
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image_url", "image_url": {"url": url(part)}}
        for part in parts
    ]
    return ChatMessage.model_validate({"role": role, "content": content})


def talk(n: int, rounds: int = 1) -> tuple[ChatMessage, ...]:
    """An episode's prompt: what all share, then `rounds` pictures with replies between."""
    opening = ChatMessage(role="system", content="You work in a web browser for a person. " * 4)
    turns = []
    for k in range(rounds):
        turns += [said("user", f"Task {n}, step {k}: press it.", picture(n + 3 * k)), said("assistant", f"Action {k}.")]
    return (opening, *turns[:-1])
