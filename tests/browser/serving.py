"""Folders of pages, served on the loopback interface."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and prints nothing: the visits keep their own record."""

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@contextmanager
def serve(handler: Callable) -> Iterator[str]:
    """Answer with the handler on a free port of the loopback interface; give the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
