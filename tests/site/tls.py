"""The test website over TLS with a certificate that no browser accepts: self-signed, and expired in 2021."""

import asyncio
import ssl
import tempfile
from pathlib import Path
from typing import Self

from tests.site.server import Site

WITHIN = 20.0
# `openssl ca` is the one command that sets both dates in every version; it wants the books of an authority.
AUTHORITY = """
[ca]
default_ca = books
[books]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = policy
x509_extensions = names
[policy]
commonName = supplied
[names]
subjectAltName = DNS:site.localhost, DNS:*.localhost, IP:127.0.0.1
"""


async def expired_certificate(folder: Path) -> ssl.SSLContext:
    """Make a key and a certificate in `folder` with the `openssl` command, and load them."""
    for name, content in (("ca.cnf", AUTHORITY), ("index.txt", ""), ("serial", "01\n")):
        (folder / name).write_text(content)
    key = "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out request.pem"
    await _openssl(folder, *key.split(), "-subj", "/CN=site.localhost")
    sign = "ca -batch -selfsign -notext -config ca.cnf -keyfile key.pem -in request.pem -out certificate.pem"
    await _openssl(folder, *sign.split(), "-startdate", "20200101000000Z", "-enddate", "20210101000000Z")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context


async def _openssl(folder: Path, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        "openssl",
        *arguments,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WITHIN):
            _, complaint = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise RuntimeError(f"openssl exited with {process.returncode}: {complaint.decode(errors='replace')}")


class TlsSite(Site):
    """The same pages at https://, behind the expired certificate."""

    scheme = "https"

    async def __aenter__(self) -> Self:
        with tempfile.TemporaryDirectory(prefix="webgym-tls-") as folder:
            self.tls = await expired_certificate(Path(folder))
        return await super().__aenter__()
