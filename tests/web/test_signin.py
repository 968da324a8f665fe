"""Signing in with a browser: cookies, throttling, closed reading, other sites' forms."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services import access
from app.services.access import (
    PER_ADDRESS,
    PER_NAME,
    PER_PAIR,
    Attempts,
    create_editor,
    create_key,
    set_password,
)
from app.settings import Settings
from app.web.access import safe_address
from tests.cheap_hashes import cheap_hashes

PASSWORD = "four words in a row"
HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": "en"}


@pytest.fixture(scope="module")
def database(seeded_database: Path) -> str:
    path = seeded_database.with_name("signin.db")
    shutil.copyfile(seeded_database, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[TestClient]:
    with (
        cheap_hashes(),
        TestClient(
            create_app(Settings(database_url=database)), headers=HTML, follow_redirects=False
        ) as client,
    ):
        for name, scope in (("林晓", "admin"), ("buyer", "write"), ("reader", "read")):
            create_editor(engine_of(client), name, PASSWORD, (scope,))
        yield client


@pytest.fixture
def anyone(site: TestClient) -> Iterator[TestClient]:
    """A browser without cookies, whose tries nobody has counted yet."""
    app: Any = site.app
    app.state.sign_in_attempts = Attempts()
    if hasattr(app.state, "limits"):
        del app.state.limits
    site.cookies.clear()
    yield site
    site.cookies.clear()


def engine_of(client: TestClient) -> Any:
    app: Any = client.app
    return app.state.engine


def plant(client: TestClient, token: str) -> None:
    """The cookie as the server's own would lie in the browser."""
    client.cookies.set("cw_session", token, domain="testserver.local", path="/")


def sign_in(client: TestClient, name: str = "buyer", password: str = PASSWORD, **fields: str) -> Any:
    return client.post("/signin", data={"name": name, "password": password, **fields})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_how_to_get_an_account(anyone: TestClient, language: str) -> None:
    answer = anyone.get("/signin", headers={"accept-language": language})
    assert answer.status_code == 200 and answer.headers["cache-control"] == "no-store"
    assert "cardworth editor add" in answer.text
    assert 'autocomplete="current-password"' in answer.text and 'autocomplete="username"' in answer.text
    assert ("Sign in" in answer.text) == (language == "en")


def test_signing_in_and_out(anyone: TestClient) -> None:
    answer = sign_in(anyone, " BUYER ", next="/prices?gpu=rtx4090")
    assert (answer.status_code, answer.headers["location"]) == (303, "/prices?gpu=rtx4090")
    page = anyone.get("/gpus/rtx4090").text
    assert 'href="/account"' in page and "buyer" in page and "/gpus/rtx4090/price" in page
    assert anyone.get("/signin?next=/quotes").headers["location"] == "/quotes"
    token = anyone.cookies["cw_session"]
    left = anyone.post("/signout")
    assert (left.status_code, left.headers["location"]) == (303, "/")
    assert "cw_session" not in anyone.cookies
    assert 'href="/signin"' in anyone.get("/gpus/rtx4090").text
    # The token itself is dead, not only the cookie.
    plant(anyone, token)
    assert 'href="/signin"' in anyone.get("/gpus/rtx4090").text
    assert anyone.get("/signout").status_code == 405


def test_the_kept_start_page_is_not_shown_to_others(anyone: TestClient) -> None:
    sign_in(anyone)
    assert ">buyer</a>" in anyone.get("/?model=llama-3.1-8b").text
    anyone.cookies.clear()
    page = anyone.get("/?model=llama-3.1-8b").text
    assert ">buyer</a>" not in page and 'href="/signin"' in page


@pytest.mark.parametrize(
    ("scheme", "name", "secure"), [("http", "cw_session", False), ("https", "__Host-cw_session", True)]
)
def test_the_flags_of_the_cookie(anyone: TestClient, scheme: str, name: str, secure: bool) -> None:
    host = f"{scheme}://testserver"
    answer = anyone.post(f"{host}/signin", data={"name": "buyer", "password": PASSWORD})
    (cookie,) = answer.headers.get_list("set-cookie")
    value, *flags = (part.strip() for part in cookie.split(";"))
    found = {flag.split("=")[0].lower(): flag.partition("=")[2] for flag in flags}
    assert value.startswith(f"{name}=")
    assert "httponly" in found and found["samesite"].lower() == "lax" and found["path"] == "/"
    assert ("secure" in found) == secure
    assert "domain" not in found and found["max-age"] == str(12 * 3600)
    # It counts under the scheme that it was made for alone.
    token = value.partition("=")[2]
    seen = anyone.get(f"{host}/account", headers={"cookie": f"{name}={token}"})
    assert seen.status_code == 200 and "buyer" in seen.text
    gone = anyone.post(f"{host}/signout", headers={"cookie": f"{name}={token}"})
    assert name in gone.headers["set-cookie"] and "Max-Age=0" in gone.headers["set-cookie"]
    other = "https" if scheme == "http" else "http"
    assert (
        anyone.get(f"{other}://testserver/account", headers={"cookie": f"{name}={token}"}).status_code == 303
    )


def test_the_token_changes_at_sign_in(anyone: TestClient) -> None:
    # A token that somebody planted does not come to count when its victim signs in.
    plant(anyone, "planted")
    sign_in(anyone)
    first = anyone.cookies["cw_session"]
    assert first != "planted"
    anyone.cookies.clear()
    plant(anyone, first)
    answer = sign_in(anyone)
    assert answer.status_code == 303 and anyone.cookies["cw_session"] != first
    anyone.cookies.clear()
    plant(anyone, first)
    assert anyone.get("/account").status_code == 303


def test_a_wrong_name_and_a_wrong_password_look_alike(anyone: TestClient) -> None:
    pages = []
    for name, password in (("buyer", "wrong"), ("nobody", "wrong"), ("nobody", PASSWORD)):
        answer = sign_in(anyone, name, password)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
        assert "Name or password is wrong." in answer.text and PASSWORD not in answer.text
        pages.append(answer.text.replace(name, ""))
    assert pages[0] == pages[1] == pages[2]
    form = {"content-type": "application/x-www-form-urlencoded"}
    # A NUL, half a surrogate pair, bytes that are no UTF-8, far too much, markup.
    for name in ("a%00b", "%ed%a0%bd", "%ff", "x" * 10_000, "%3Cscript%3Ealert(1)%3C/script%3E"):
        answer = anyone.post("/signin", content=f"name={name}&password=%00{'y' * 300}", headers=form)
        assert answer.status_code == 403 and "<script>alert" not in answer.text


def test_tries_at_one_name_from_one_address_are_limited(anyone: TestClient) -> None:
    for _ in range(PER_PAIR):
        assert sign_in(anyone, password="wrong").status_code == 403
    refused = sign_in(anyone)
    assert refused.status_code == 429 and "set-cookie" not in refused.headers
    assert 0 < int(refused.headers["retry-after"]) <= 15 * 60
    assert re.search(r"Try again in \d+ min", unescape(refused.text))
    # Another name from the same address is not held up, and a name in other letters is the same name.
    assert sign_in(anyone, "BuYer").status_code == 429
    assert sign_in(anyone, "林晓").status_code == 303


def test_tries_of_one_address_are_limited_whatever_the_name(anyone: TestClient) -> None:
    for number in range(PER_ADDRESS):
        assert sign_in(anyone, f"guess {number}").status_code == 403
    assert sign_in(anyone).status_code == 429


def test_whoever_signs_in_starts_again_at_nothing(anyone: TestClient) -> None:
    for _ in range(2):
        for _ in range(PER_PAIR - 1):
            assert sign_in(anyone, password="wrong").status_code == 403
        assert sign_in(anyone).status_code == 303


def test_signing_in_often_is_no_guessing(anyone: TestClient) -> None:
    # More often than any of the limits of one address allows failures.
    for _ in range(PER_ADDRESS + 1):
        anyone.cookies.clear()
        assert sign_in(anyone).status_code == 303


def test_a_guesser_does_not_lock_the_editor_out() -> None:
    attempts = Attempts()
    for _ in range(PER_PAIR):
        attempts.check("buyer", "10.0.0.1")
        attempts.count("buyer", "10.0.0.1")
    with pytest.raises(access.TooManyAttempts):
        attempts.check("buyer", "10.0.0.1")
    attempts.check("buyer", "10.0.0.2")
    attempts.check("reader", "10.0.0.1")


def test_a_guesser_with_many_addresses_is_limited_too() -> None:
    attempts = Attempts()
    for number in range(PER_NAME):
        attempts.check("buyer", f"10.0.1.{number}")
        attempts.count("buyer", f"10.0.1.{number}")
    with pytest.raises(access.TooManyAttempts):
        attempts.check("buyer", "10.0.2.1")
    # What one address is forgiven leaves the others counted.
    attempts.forgive("buyer", "10.0.1.1")
    with pytest.raises(access.TooManyAttempts):
        attempts.check("buyer", "10.0.2.1")


def test_a_window_that_is_over_lets_in_again(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts()
    for _ in range(PER_PAIR):
        attempts.count("buyer", "10.0.0.1")
    with pytest.raises(access.TooManyAttempts) as refused:
        attempts.check("buyer", "10.0.0.1")
    assert 890 <= refused.value.retry_after_s <= 900
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 901)
    attempts.check("buyer", "10.0.0.1")


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
)
def test_forms_of_other_sites_are_refused(anyone: TestClient, headers: dict[str, str]) -> None:
    sign_in(anyone, "林晓")
    for path in (
        "/signin",
        "/signout",
        "/account/password",
        "/keys",
        "/keys/abc/revoke",
        "/history/1/undo",
        "/gpus/rtx4090/price",
        "/gpus/rtx4090/figure",
        "/prices/import/keep",
        "/quotes/keep",
    ):
        answer = anyone.post(path, data={"name": "x", "scope": "write", "why": "y"}, headers=headers)
        assert answer.status_code == 403, path
        assert "set-cookie" not in answer.headers, path
    assert anyone.get("/account").status_code == 200


@pytest.mark.parametrize(
    ("asked", "goes_to"),
    [
        ("/prices?gpu=rtx4090&use=held", "/prices?gpu=rtx4090&use=held"),
        ("", "/"),
        ("prices", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/signin?next=/prices", "/"),
        ("/\r\nset-cookie: a=b", "/"),
        ("/" + "x" * 3_000, "/"),
        ("/价格", "/"),
    ],
)
def test_a_link_to_sign_in_leads_to_no_other_site(anyone: TestClient, asked: str, goes_to: str) -> None:
    assert safe_address(asked) == goes_to
    assert sign_in(anyone, next=asked).headers["location"] == goes_to


def test_an_editor_changes_the_password(anyone: TestClient) -> None:
    engine = engine_of(anyone)
    create_editor(engine, "changer", PASSWORD, ("write",))
    sign_in(anyone, "changer")
    elsewhere = anyone.cookies["cw_session"]
    anyone.cookies.clear()
    assert anyone.get("/account").headers["location"] == "/signin?next=%2Faccount"
    sign_in(anyone, "changer")
    new = "five words in one row"

    def change(**fields: str) -> Any:
        given = {"password": PASSWORD, "new": new, "again": new, **fields}
        return anyone.post("/account/password", data=given)

    assert "not your password" in change(password="wrong").text
    assert "differ" in change(again="six").text
    assert "15 characters" in change(new="short", again="short").text
    before = anyone.cookies["cw_session"]
    assert change().headers["location"] == "/account?said=changed"
    # This browser goes on under another token; the other one is out.
    assert anyone.cookies["cw_session"] != before
    assert "The password is changed." in anyone.get("/account?said=changed").text
    anyone.cookies.clear()
    for old in (before, elsewhere):
        assert anyone.get("/account", headers={"cookie": f"cw_session={old}"}).status_code == 303
    assert sign_in(anyone, "changer").status_code == 403
    assert sign_in(anyone, "changer", new).status_code == 303
    set_password(engine, "changer", PASSWORD)
    assert anyone.get("/account").status_code == 303


# Reading open or closed by one setting.


@pytest.fixture(scope="module")
def closed(site: TestClient, database: str) -> Iterator[TestClient]:
    assert site  # It makes the editors.
    settings = Settings(database_url=database, read_requires_key=True)
    with TestClient(create_app(settings), headers=HTML, follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/gpus", "/gpus/rtx4090?lang=en", "/gpus.csv", "/data", "/charts/prices", "/c/none", "/no"]
)
def test_closed_reading_sends_browsers_to_sign_in(closed: TestClient, path: str) -> None:
    closed.cookies.clear()
    answer = closed.get(path)
    assert answer.status_code == 303 and answer.headers["cache-control"] == "no-store"
    page = closed.get(answer.headers["location"])
    assert page.status_code == 200 and "Scripts send an API key" in page.text
    back = re.search(r'name="next" value="([^"]*)"', page.text)
    assert back is not None and unescape(back[1]) == path


def test_closed_reading_opens_by_sign_in_or_by_key(closed: TestClient) -> None:
    closed.cookies.clear()
    assert sign_in(closed, "reader", next="/gpus").headers["location"] == "/gpus"
    for path in ("/gpus", "/gpus.csv", "/?model=llama-3.1-8b", "/charts/prices?gpu=rtx4090"):
        assert closed.get(path).status_code == 200, path
    closed.post("/signout")
    assert closed.get("/gpus").status_code == 303
    key = {"x-api-key": create_key(engine_of(closed), "script", ("read",)).secret}
    assert closed.get("/gpus.csv", headers=key).status_code == 200
    assert closed.get("/gpus.csv", headers={"x-api-key": "cwk_wrong"}).status_code == 303


def test_closed_reading_answers_scripts_forms_and_parts_with_401(closed: TestClient) -> None:
    closed.cookies.clear()
    for answer in (
        closed.get("/gpus", headers={"accept": "application/json"}),
        closed.get("/api/v1/gpus"),
        closed.post("/quotes/preview", data={"table": "x"}),
        closed.post("/prices/import"),
    ):
        assert answer.status_code == 401 and answer.headers["www-authenticate"]
    assert closed.get("/gpus", headers={"accept": "application/json"}).json()["type"] == "sign-in-required"
    part = closed.get(
        "/?batch_size=8", headers={"hx-request": "true", "hx-current-url": "http://testserver/?a=1"}
    )
    assert part.status_code == 401 and part.headers["hx-redirect"] == "/signin?next=%2F%3Fa%3D1"


def test_the_cookie_opens_no_api(closed: TestClient) -> None:
    closed.cookies.clear()
    sign_in(closed, "林晓")
    assert closed.get("/gpus").status_code == 200
    assert closed.get("/api/v1/gpus").status_code == 401
    row = {"base": "USD", "quote": "CNY", "rate": 6.74, "observed_on": "2026-11-28", "source": "A bank"}
    assert closed.post("/api/v1/rates", json=row).status_code == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/static/api_docs.js", "/openapi.json", "/signin"])
def test_what_stays_open(closed: TestClient, path: str) -> None:
    closed.cookies.clear()
    assert closed.get(path).status_code == 200


def test_reading_is_open_by_default(anyone: TestClient) -> None:
    for path in ("/", "/gpus", "/prices", "/data", "/api/v1/gpus"):
        assert anyone.get(path).status_code == 200


def test_a_database_that_fails_is_no_stack_trace(closed: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.catalog.problems import DatabaseProblem

    def fail(*_: Any) -> None:
        raise DatabaseProblem.locked()

    monkeypatch.setattr("app.services.access.editor_of_session", fail)
    plant(closed, "anything")
    answer = closed.get("/gpus")
    closed.cookies.clear()
    assert answer.status_code == 503 and "Traceback" not in answer.text
    assert int(answer.headers["retry-after"]) > 0
