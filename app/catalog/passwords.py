"""Passwords of editors: what one must be, and the slow, salted hash that is kept of it.

References
----------
1. RFC 9106, Argon2, section 4, the second recommended option: Argon2id, 3 passes, 4 lanes, 64 MiB, 128-bit
   salt, 256-bit tag. Read 2026-11-30.
2. NIST SP 800-63B-4, section 3.1.1.2, through a summary: 15 characters where the password is the only
   factor, no rules of composition, no forced change, NFKC before hashing. Read 2026-11-30.
"""

from __future__ import annotations

import secrets
import unicodedata
from functools import lru_cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from app.catalog.names import normalise_name

MIN_LENGTH = 15
MAX_LENGTH = 256
"""A longer one is no password; hashing it would only cost time."""
PASSES = 3
MEMORY_KIB = 65_536
LANES = 4
# Each hash takes MEMORY_KIB, so that many sign-ins at once must not take the memory of the machine.
_TURN = BoundedSemaphore(2)


class PasswordRefused(ValueError):
    """A password cannot be taken; `code` says why: password_short, password_long, password_is_name."""

    def __init__(self, code: str, limit: int = 0) -> None:
        super().__init__(code)
        self.code = code
        self.limit = limit


@lru_cache(maxsize=1)
def _hasher() -> PasswordHasher:
    return PasswordHasher(PASSES, MEMORY_KIB, LANES, hash_len=32, salt_len=16, type=Type.ID)


def check_password(password: str, name: str) -> None:
    """Refuse a password that is too easy to guess, or no password.

    Errors
    ------
    PasswordRefused.
    """
    length = len(_normalise(password))
    if length < MIN_LENGTH:
        raise PasswordRefused("password_short", MIN_LENGTH)
    if length > MAX_LENGTH:
        raise PasswordRefused("password_long", MAX_LENGTH)
    if normalise_name(password) == normalise_name(name) or len(set(password)) == 1:
        raise PasswordRefused("password_is_name")


def hash_password(password: str) -> str:
    """The hash to keep: Argon2id in the PHC string format, with its parameters and a fresh salt."""
    with _TURN:
        return _hasher().hash(_normalise(password))


def verify_password(kept: str | None, password: str) -> bool:
    """Whether a password is the one behind a hash; without a hash (no such editor) a no takes as long."""
    if len(password) > MAX_LENGTH:
        return False
    with _TURN:
        try:
            return _hasher().verify(kept or _nobodys_hash(), _normalise(password)) and kept is not None
        except (VerifyMismatchError, VerificationError, InvalidHashError):
            return False


def is_outdated(kept: str) -> bool:
    """Whether a hash was made with other parameters than those in force."""
    return _hasher().check_needs_rehash(kept)


def generate_password() -> str:
    """A password of 120 random bits for someone who will change it."""
    return secrets.token_urlsafe(15)


@lru_cache(maxsize=1)
def _nobodys_hash() -> str:
    return _hasher().hash(secrets.token_urlsafe(32))


def _normalise(password: str) -> bytes:
    """One form for what keyboards write in several ways; lone surrogates, which no keyboard writes, stay."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
