"""Pages by which websites refuse automation, told by cheap signs: where the page is, its status, its title, its words.

`find_refusal` is a pure function of one page and says what it saw, so that a person can check it. It would rather miss a
refusal than invent one: an article about captchas, a form with a box to tick and a page for members are none of it.

    certain     an address that only a challenge has; or two signs of different kinds, such as status 403 and "access denied"
    suspected   one sign alone: a challenge's whole title, a challenge's query, which anybody can add to an address, or words
                that ask a visitor on a short page to prove to be human
    None        anything else

A rollout ends an episode for what is certain; a judge may ask a model about what is suspected. Words are looked for at the
beginning of a page and only on short ones, in the languages below: a challenge has little else to say. No pattern can look
twice at the same text, so a hostile page costs no more than another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from webgym.types import Episode

Strength = Literal["certain", "suspected"]

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
REFUSING: Final = frozenset({401, 403, 429, 503})
SHORT: Final = 2_500  # characters that a challenge has at most; an article has more
TITLE: Final = 300  # characters of a title that are looked at
ADDRESS: Final = 2_000
SAID: Final = 80  # characters of a page that are quoted

# Hosts that serve nothing but challenges: a page of theirs, not a frame inside a page.
_CHALLENGE_HOSTS: Final = (
    "captcha-delivery.com",
    "challenges.cloudflare.com",
    "validate.perfdrive.com",
    "captcha.px-cdn.net",
    "hcaptcha.com",
)
# Paths that websites and their guards give to challenges.
_CHALLENGE_PATH: Final = re.compile(
    r"/cdn-cgi/challenge-platform/|/_incapsula_resource|/distil_r_captcha|/errors/validatecaptcha"
    r"|/sorry/index|/showcaptcha(?=[?/]|$)|/px/captcha|/tspd/|/_sec/cp_challenge/|/blocked\?url=",
    re.IGNORECASE,
)
_CHALLENGE_QUERY: Final = re.compile(r"[?&]__cf_chl_", re.IGNORECASE)

# Titles that challenges have, the whole of them but for what stands behind a separator.
_WHOLE_TITLES: Final = re.compile(
    r"(?:just a moment|attention required!?|pardon our interruption|access to this page has been denied|robot or human\??"
    r"|robot check|human verification|are you (?:a )?(?:human|robot)\??|bot (?:check|detection|protection)"
    r"|verify(?:ing)? (?:that )?you are (?:a )?human|checking your browser|ddos-guard|access denied|request blocked"
    r"|403 forbidden|429 too many requests|too many requests|you have been blocked"
    r"|nur einen moment|zugriff verweigert|sicherheitsüberprüfung|sind sie ein mensch\??"
    r"|un instant|accès refusé|vérification de sécurité"
    r"|un momento|acceso denegado|verificación de seguridad"
    r"|accesso negato|verifica di sicurezza|um momento|acesso negado|verificação de segurança"
    r"|even geduld|toegang geweigerd|jeszcze chwila|odmowa dostępu"
    r"|один момент|доступ запрещ[её]н|вы не робот\??"
    r"|请稍候|安全验证|访问被拒绝|人机验证|請稍候|しばらくお待ちください|アクセスが拒否されました|잠시만 기다리십시오"
    r"|접근이 거부되었습니다|lütfen bekleyin|erişim engellendi)[\s.…!?]*(?:$|[|–—:·-])",
    re.IGNORECASE,
)
# Words inside a longer title that say enough beside a refusing status.
_TITLE_WORDS: Final = re.compile(
    r"just a moment|attention required|access (?:is |was )?(?:denied|blocked|restricted)|are you (?:a )?(?:human|robot)"
    r"|captcha|verify(?:ing)? (?:that )?you are|human verification|security check|bot (?:check|detection|protection)"
    r"|pardon our interruption|request (?:was |has been )?blocked|you have been blocked|unusual traffic"
    r"|too many requests|403 forbidden|ddos"
    r"|zugriff verweigert|accès refusé|acceso denegado|accesso negato|acesso negado|toegang geweigerd|odmowa dostępu"
    r"|доступ запрещ|访问被拒绝|アクセスが拒否|접근이 거부|erişim engellendi",
    re.IGNORECASE,
)
# What a challenge asks of its visitor, or tells them. "I'm not a robot" is left out: ordinary forms have that box.
_WORDS: Final = re.compile(
    r"(?:verify|confirm|prove|check) (?:that )?(?:you are|you're|if you are) (?:a |not a |really )?(?:human|robot|bot)"
    r"|verifying (?:that )?you are (?:a )?human|(?:complete|solve) the (?:captcha|security check|challenge) (?:below |to )"
    r"|unusual (?:traffic|activity) from your|systems? (?:have|has) detected unusual (?:traffic|activity)"
    r"|automated (?:access|requests|queries|traffic) (?:to this \w+ )?(?:is|are) not (?:permitted|allowed)"
    r"|enable javascript and cookies to continue|needs to review the security of your connection"
    r"|press (?:&|and) hold to confirm|you have been blocked|your (?:access|request|ip(?: address)?) has been blocked"
    r"|you don't have permission to access .{1,200} on this server|incapsula incident id|why have i been blocked"
    r"|checking (?:if the site connection is secure|your browser before accessing)"
    r"|bestätigen sie,? dass sie (?:ein mensch|kein roboter)|ungewöhnliche[rn]? datenverkehr"
    r"|(?:vérifi|confirm)ez que vous (?:êtes (?:un )?humain|n'êtes pas un robot)|trafic inhabituel"
    r"|(?:verifique|verifica|confirme|confirma) que (?:usted )?(?:es|eres) (?:un )?humano"
    r"|(?:verifique|verifica|confirme|confirma) que no (?:es|eres) un robot|tráfico inusual"
    r"|(?:verifica|conferma) di (?:essere umano|non essere un robot)|traffico insolito"
    r"|(?:verifique|confirme) que (?:você )?(?:é humano|não é um robô)|tráfego incomum"
    r"|(?:bevestig|controleer) dat u (?:een mens|geen robot)|potwierdź, że (?:jesteś człowiekiem|nie jesteś robotem)"
    r"|подтвердите, что вы (?:не робот|человек)|запросы, отправленные вами, похожи на автоматические"
    r"|确认您(?:是真人|不是机器人)|请完成(?:以下)?(?:安全)?验证|異常なトラフィック|ロボットではないことを確認"
    r"|사람인지 확인|비정상적인 트래픽|insan olduğunuzu doğrulayın",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Page:
    """What is known of a page. None: not asked for, or not told."""

    url: str
    title: str
    status: int | None = None
    text: str | None = None


@dataclass(frozen=True)
class Finding:
    """Why a page is taken for a refusal, in words for a person."""

    strength: Strength
    signs: tuple[str, ...]

    @property
    def reason(self) -> str:
        return ", ".join(self.signs)


def site_of(website: str) -> str:
    """What a refusal counts for: host and port, without scheme, default port and `www.`, as samplers tell websites apart."""
    try:
        parts = urlsplit(website if "://" in website else f"//{website}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return website
    short = host.removeprefix("www.")
    host = short if "." in short else host
    host = f"[{host}]" if ":" in host else host
    return host if port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"


def refused_by(episode: Episode) -> str | None:
    """The website that a refusal at the end of an episode is held against; None: the agent had wandered off to another, or
    its task names no website. What the task's own address leads to is its website's doing, be it a guard's host; later only
    its own pages are."""
    website, page = site_of(episode.task.website), site_of(episode.final_url)
    if not website or (episode.steps and page != website and not page.endswith(f".{website}")):
        return None
    return episode.task.website


def find_refusal(page: Page) -> Finding | None:
    """Whether a page refuses automation, as far as cheap signs tell."""
    refusing = page.status in REFUSING
    if page.status is not None and page.status >= 400 and not refusing:
        return None  # not found, or broken: whatever it says, and whatever its address, it is no refusal
    if (address := _address(page.url)) is not None:
        return Finding("certain", (address,))
    query = _CHALLENGE_QUERY.search(page.url[:ADDRESS].partition("#")[0])
    status = f"status {page.status}"
    title = " ".join(page.title[:TITLE].split())
    whole = _WHOLE_TITLES.match(title)
    named = whole or (_TITLE_WORDS.search(title) if refusing else None)
    said = _said(page.text)
    signs = tuple(
        sign
        for sign in (
            status if refusing else None,
            f"address has {_quoted(query)}" if query is not None else None,
            f"title says {_quoted(named)}" if named is not None else None,
            f"page says {_quoted(said)}" if said is not None else None,
        )
        if sign is not None
    )
    if len(signs) >= 2:
        return Finding("certain", signs)
    if said is not None or query is not None or (whole is not None and _is_short(page.text)):
        return Finding("suspected", signs)
    return None


def _address(url: str) -> str | None:
    url = url[:ADDRESS]
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    for challenge in _CHALLENGE_HOSTS:
        if host == challenge or host.endswith(f".{challenge}"):
            return f"address is of {challenge}"
    found = _CHALLENGE_PATH.search(url.partition("#")[0])
    return f"address has {_quoted(found)}" if found is not None else None


def _is_short(text: str | None) -> bool:
    return text is None or len(text) <= SHORT


def _said(text: str | None) -> re.Match[str] | None:
    if text is None or not _is_short(text):
        return None
    return _WORDS.search(" ".join(text.replace("’", "'").split()))


def _quoted(found: re.Match[str]) -> str:
    return repr(found.group(0).strip(" |–—:·-").lower()[:SAID])
