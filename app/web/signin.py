"""Signing in and out, and what an editor may do with the own account."""

from __future__ import annotations

import math

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.middleware.guards import SIGN_IN, SIGN_OUT, session_cookie
from app.services.access import (
    MIN_LENGTH,
    Attempts,
    Editor,
    PasswordRefused,
    TooManyAttempts,
    authenticate,
    end_session,
    lifetime_of,
    set_password,
    sign_in,
    start_session,
)
from app.services.changes import Author
from app.services.limits import counted_as
from app.texts.say import say_code
from app.web.access import ask_to_sign_in, editor_of, safe_address
from app.web.answers import open_page
from app.web.render import Page
from app.web.uploads import Upload, in_thread, read_upload

router = APIRouter()

ACCOUNT = "/account"
NO_STORE = {"cache-control": "no-store"}


def _secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _address(request: Request) -> str:
    return counted_as(request.client.host) if request.client else "unknown"


def _token(request: Request) -> str:
    return request.cookies.get(session_cookie(_secure(request)), "")


def _attempts(request: Request) -> Attempts:
    state = request.app.state
    if not hasattr(state, "sign_in_attempts"):
        state.sign_in_attempts = Attempts()
    attempts: Attempts = state.sign_in_attempts
    return attempts


def _keep_token(request: Request, response: Response, token: str) -> None:
    response.set_cookie(
        session_cookie(_secure(request)),
        token,
        max_age=request.app.state.settings.session_hours * 3600,
        path="/",
        secure=_secure(request),
        httponly=True,
        samesite="lax",
    )


@router.get(SIGN_IN)
def sign_in_page(request: Request) -> Response:
    """The form to sign in; whoever is signed in goes on to where the link leads."""
    back = safe_address(request.query_params.get("next", ""))
    if editor_of(request) is not None:
        return RedirectResponse(back, 303, NO_STORE)
    return _form(request, back)


@router.post(SIGN_IN)
async def sign_in_now(request: Request) -> Response:
    """Sign in with name and password."""
    upload = await read_upload(request)
    return await in_thread(_sign_in, request, upload)


@router.post(SIGN_OUT)
def sign_out(request: Request) -> Response:
    """End the session; its token counts no longer, wherever it was copied to."""
    if _token(request):
        end_session(request.app.state.engine, _token(request))
    response = RedirectResponse("/", 303, NO_STORE)
    response.delete_cookie(
        session_cookie(_secure(request)), path="/", secure=_secure(request), httponly=True, samesite="lax"
    )
    return response


@router.get(ACCOUNT)
def account(request: Request) -> Response:
    """Who is signed in, what that allows, and the form for another password."""
    editor = editor_of(request)
    if editor is None:
        return ask_to_sign_in(ACCOUNT)
    page, _snapshot, _words = open_page(request)
    return _account(page, editor, changed=request.query_params.get("said") == "changed")


@router.post(f"{ACCOUNT}/password")
async def change_password(request: Request) -> Response:
    """Take another password; every other browser that is signed in has to sign in again."""
    upload = await read_upload(request)
    return await in_thread(_change_password, request, upload)


def _sign_in(request: Request, upload: Upload) -> Response:
    back = safe_address(upload.fields.get("next", ""))
    state, name = request.app.state, upload.text("name")
    try:
        found = sign_in(
            state.engine,
            _attempts(request),
            lifetime_of(state.settings),
            name,
            upload.fields.get("password", ""),
            _address(request),
            _token(request),
        )
    except TooManyAttempts as refused:
        return _form(request, back, name, too_many=refused)
    if found is None:
        return _form(request, back, name, wrong=True)
    response = RedirectResponse(back, 303, NO_STORE)
    _keep_token(request, response, found.token)
    return response


def _form(
    request: Request,
    back: str,
    name: str = "",
    *,
    wrong: bool = False,
    too_many: TooManyAttempts | None = None,
) -> Response:
    page, _snapshot, _words = open_page(request)
    headers = NO_STORE | ({"retry-after": str(too_many.retry_after_s)} if too_many else {})
    return page.render(
        "signin.html",
        SIGN_IN,
        429 if too_many else 403 if wrong else 200,
        headers,
        back=back,
        name=name,
        wrong=wrong,
        wait_minutes=math.ceil(too_many.retry_after_s / 60) if too_many else 0,
        closed=request.app.state.settings.read_requires_key,
    )


def _change_password(request: Request, upload: Upload) -> Response:
    editor = editor_of(request)
    if editor is None:
        return ask_to_sign_in(ACCOUNT)
    page, _snapshot, _words = open_page(request)
    engine, attempts = request.app.state.engine, _attempts(request)
    new = upload.fields.get("new", "")
    try:
        # Whoever finds an open browser may guess at the password no faster than at the form to sign in.
        attempts.check(editor.name, _address(request))
        if authenticate(engine, editor.name, upload.fields.get("password", "")) is None:
            attempts.count(editor.name, _address(request))
            return _account(page, editor, code=403, problem=page._("That is not your password."))
        attempts.forgive(editor.name, _address(request))
        if new != upload.fields.get("again", ""):
            return _account(page, editor, code=422, problem=page._("The two new passwords differ."))
        set_password(engine, editor.name, new, Author(editor.name))
    except TooManyAttempts as refused:
        minutes = math.ceil(refused.retry_after_s / 60)
        problem = page._("Too many tries. Try again in %(minutes)s min.") % {"minutes": minutes}
        return _account(page, editor, code=429, problem=problem)
    except PasswordRefused as refused:
        problem = say_code(refused.code, {"limit": refused.limit}, page.language)
        return _account(page, editor, code=422, problem=problem)
    response = RedirectResponse(f"{ACCOUNT}?said=changed", 303, NO_STORE)
    _keep_token(request, response, start_session(engine, editor.id, lifetime_of(request.app.state.settings)))
    return response


def _account(
    page: Page, editor: Editor, *, code: int = 200, problem: str = "", changed: bool = False
) -> Response:
    return page.render(
        "account.html",
        ACCOUNT,
        code,
        NO_STORE,
        who=editor,
        problem=problem,
        changed=changed,
        least=MIN_LENGTH,
    )
