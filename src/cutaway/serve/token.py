"""The token in the printed address: requests without it are refused, even on loopback.

Every account of a machine reaches its loopback ports, and a page in another tab can guess them.
The address carries the token once; a cookie of that host (SameSite=Strict, HttpOnly) keeps it.
"""

import secrets
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:  # a run prints its page's address and does not serve: half a second less
    from fastapi import Request, Response

NAME = "token"


@cache
def own_token() -> str:
    """This process's token: the page of a run and the page after it share one tab."""
    return secrets.token_urlsafe(24)


def with_token(url: str, token: str) -> str:
    """The address to print, and to open in a browser."""
    return f"{url}?{urlencode({NAME: token})}" if token else url


def asked_for_token(request: "Request", token: str) -> "Response | None":
    """What to answer a request that must show the token; None: it has."""
    from fastapi.responses import JSONResponse, RedirectResponse

    cookie = f"cutaway-{request.url.port or 80}"  # cookies are shared by all ports of a host
    given = request.query_params.get(NAME, "")
    if given and _same(given, token) and request.method == "GET" and request.url.path == "/":
        answer = RedirectResponse("/", status_code=303)  # so that it leaves the address bar
        answer.set_cookie(cookie, token, httponly=True, samesite="strict", path="/")
        return answer
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    if any(_same(one, token) for one in (given, bearer, request.cookies.get(cookie, ""))):
        return None
    message = "no token; open the address that cutaway printed, with everything after the ?"
    return JSONResponse({"error": message}, status_code=401)


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())
