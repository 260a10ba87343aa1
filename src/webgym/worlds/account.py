"""Logging in, with the one account that a site knows. Pages made with `members=True` ask for it."""

from __future__ import annotations

from typing import TypeVar

from webgym.worlds.blocks import Columns, Link, Notice, Page, Prose, Redirect, Response
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import Account, Kind, Visit
from webgym.worlds.route import Fill, Move, Open, Press

C = TypeVar("C")


def has_accounts(kind: Kind[C], home: str = "/") -> None:
    """Give a kind /login and /logout; `home` is where a member arrives."""

    @kind.page("/login")
    def login(visit: Visit[C]) -> Response:
        account = visit.site.account
        wrong = "The user name or the password is not right."
        form = Form.of(
            "login",
            Field("user", "User name", matches=account.user, wrong=wrong),
            Field("password", "Password", "password", matches=account.password, wrong=wrong),
            submit="Sign in",
        )
        wanted = visit.query.get("next", "")
        target = wanted if wanted.startswith("/") and not wanted.startswith("//") else home
        if visit.memory.user is not None:
            return Redirect(target)
        if visit.filled(form) is None:
            help_text = Prose(
                "New here?", ("Accounts are opened by our customer service.", "Keep your password to yourself.")
            )
            return Page("Sign in", (Columns(((visit.form(form),), (help_text,))),), heading="Sign in")
        visit.memory.user = account.name
        return Redirect(target)

    @kind.page("/logout")
    def logout(visit: Visit[C]) -> Response:
        visit.memory.user = None
        return Page("Signed out", (Notice("You are signed out.", "good", link=Link("Back to the start", "/")),))


def login_moves(account: Account) -> tuple[Move, ...]:
    return (Open("Sign in"), Fill("User name", account.user), Fill("Password", account.password), Press("Sign in"))


def credentials(account: Account) -> str:
    """How an instruction gives them."""
    return f"user name {account.user}, password {account.password}"
