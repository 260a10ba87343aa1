"""The OpenAPI description as a page of its own: Swagger's would load its scripts from outside."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from html import escape
from typing import Any

from fastapi import FastAPI, Response

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1c2330}
h1{font-size:1.5rem}summary{cursor:pointer;padding:.35rem 0}code{font:13px ui-monospace,monospace}
.m{display:inline-block;min-width:4.2rem;font:600 12px ui-monospace,monospace;color:#fff;background:#456;border-radius:4px;
text-align:center;padding:.1rem .3rem;margin-right:.5rem}
.post{background:#2a7d4f}.delete{background:#a33}.put{background:#96690a}
pre{background:#f4f6f9;padding:.8rem;border-radius:6px;overflow:auto;font-size:12px}details{border-bottom:1px solid #e3e7ee}
"""


def describe_too(app: FastAPI, more: Callable[[], dict[str, Any]]) -> None:
    """Let an application's description include another one. Made when first asked for: it takes a third of a second."""
    own_schema = app.openapi

    @functools.cache
    def whole() -> dict[str, Any]:
        own, theirs = own_schema(), more()
        own["paths"] = theirs["paths"] | own["paths"]
        own["components"]["schemas"] = theirs["components"]["schemas"] | own["components"]["schemas"]
        return own

    app.openapi = whole  # type: ignore[method-assign]


def docs_page(schema: dict[str, Any]) -> Response:
    parts = [f"<h1>{escape(schema['info']['title'])} {escape(schema['info']['version'])}</h1>"]
    parts.append("<p>The machine-readable description is at <a href=/openapi.json>/openapi.json</a>.</p>")
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            body = json.dumps(
                {name: operation[name] for name in ("parameters", "requestBody", "responses") if name in operation}, indent=2
            )
            parts.append(
                f"<details><summary><span class='m {escape(method)}'>{escape(method.upper())}</span>"
                f"<code>{escape(path)}</code> {escape(operation.get('description', '') or operation.get('summary', ''))}"
                f"</summary><pre>{escape(body)}</pre></details>"
            )
    parts.append("<h2>Models</h2>")
    for name, model in schema.get("components", {}).get("schemas", {}).items():
        text = escape(json.dumps(model, indent=2))
        parts.append(f"<details><summary><code>{escape(name)}</code></summary><pre>{text}</pre></details>")
    page = (
        f"<!doctype html><meta charset=utf-8><title>{escape(schema['info']['title'])}</title><style>{STYLE}</style>"
        + "".join(parts)
    )
    headers = {
        "content-security-policy": (
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    return Response(page, media_type="text/html", headers=headers)
