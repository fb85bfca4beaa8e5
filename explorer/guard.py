"""What every answer obeys: the headers, reading only, and the token where the server listens to more than this machine."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "orledger"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


class Guard:
    """Adds the headers, refuses whatever is not reading and what other sites ask, and asks for the token where there is one."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request: refused, or answered with the headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = ((k.lower().encode(), v.encode()) for k, v in HEADERS.items())
                message["headers"] = [*message["headers"], *added]
            await send(message)

        answer: Response | None = None
        if scope["method"] not in ("GET", "HEAD"):
            answer = PlainTextResponse("only reading is possible here", 405)
        elif _embedded(scope):
            answer = PlainTextResponse("these pages are no part of other sites", 403)
        elif self.token is not None and not self._same(_cookie(scope)):
            if self._same(_given(scope)):
                answer = RedirectResponse(_local(scope["path"]) + _rest(scope))
                answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            else:
                answer = PlainTextResponse(
                    "this explorer asks for its token: open the address that orledger serve printed", 401
                )
        await (self.app if answer is None else answer)(scope, receive, with_headers)

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self.token or "").encode())


def _embedded(scope: Scope) -> bool:
    """True when a page of another site asks, and not a person who follows a link: its questions would cost time all the same."""
    sent = {k: v for k, v in scope["headers"] if k in (b"sec-fetch-site", b"sec-fetch-mode")}
    return sent.get(b"sec-fetch-site") == b"cross-site" and sent.get(b"sec-fetch-mode") != b"navigate"


def _given(scope: Scope) -> str:
    """The token in the address, empty without one."""
    found: dict[str, Any] = parse_qs(scope["query_string"].decode("latin-1"))
    return str(found.get("token", [""])[0])


def _rest(scope: Scope) -> str:
    """The query of the address without the token, so that a link to a page can be given with it."""
    found = [(k, v) for k, v in parse_qsl(scope["query_string"].decode("latin-1")) if k != "token"]
    return f"?{urlencode(found)}" if found else ""


def _cookie(scope: Scope) -> str:
    """The token in the cookie, empty without one."""
    sent = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"cookie"), "")
    parts = (c.strip().partition("=") for c in sent.split(";"))
    return next((value for name, _, value in parts if name == COOKIE), "")


def _local(path: str) -> str:
    """``path`` on this server: two slashes at its start would be the name of another."""
    return "/" + path.lstrip("/\\")
