"""HTTP: the page and the glass box behind it."""

from cutaway.serve.app import create_app
from cutaway.serve.running import serve_folder

__all__ = ["create_app", "serve_folder"]
