"""BrowseComp: hard questions with short answers, encrypted so that no crawler reads them.

The key is SHA-256 of the row's canary, repeated. Plaintext lives in memory only: seeds are confidential, nothing here
logs, and no message quotes a row.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from itertools import cycle

from webgym.tasks.rows import Misfit, Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source, digest


class BrowseComp(Source):
    name = "BrowseComp"
    licence = "MIT"
    formats = ("csv", "jsonl", "parquet")
    confidential = True

    def seed(self, row: Row) -> Seed:
        key, problem = row.text("canary"), row.text("problem")
        return self.make(
            row,
            decrypt(problem, key),
            # Of the ciphertext: an id must not betray the text.
            own_id=digest(problem),
            reference_answer=decrypt(row.text("answer"), key),
        )


def decrypt(ciphertext: str, password: str) -> str:
    """The plaintext of a cell; raises Misfit, without a word of it, when there is none."""
    key = hashlib.sha256(password.encode()).digest()
    try:
        mixed = base64.b64decode(ciphertext, validate=True)
        return bytes(one ^ other for one, other in zip(mixed, cycle(key), strict=False)).decode()
    except (binascii.Error, ValueError):
        # The cause holds the decrypted bytes.
        raise Misfit("does not decrypt with its canary") from None
