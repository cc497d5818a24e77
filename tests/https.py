"""A real https server for repositories on this machine, with a certificate of its own."""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: the test's output is enough."""


@contextlib.contextmanager
def serve(folder: Path, keys: Path) -> Iterator[tuple[str, Path]]:
    """Yields the address of `folder` and the certificate that a client must be told to trust."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate can be made")
    certificate, key = keys / "cert.pem", keys / "key.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        ],
        check=True,
        capture_output=True,
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://localhost:{server.server_address[1]}", certificate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def publish(repository: Path, folder: Path, name: str) -> None:
    """A bare copy that a plain file server can serve to git."""
    place = folder / name
    if not place.exists():
        subprocess.run(["git", "clone", "-q", "--mirror", str(repository), str(place)], check=True)
    subprocess.run(["git", "-C", str(place), "fetch", "-q", "origin", "+refs/*:refs/*"], check=True)
    subprocess.run(["git", "-C", str(place), "repack", "-a", "-d", "-q"], check=True)  # one request instead of hundreds
    subprocess.run(["git", "-C", str(place), "update-server-info"], check=True)
