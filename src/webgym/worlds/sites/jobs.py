"""A job board: openings with many filters, employers, salaries by field, advice, applications in steps, a saved list.

Tasks: look up openings and employers, compare salaries, filter, collect, apply, save behind a log-in.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from webgym.worlds.account import has_accounts
from webgym.worlds.blocks import (
    Accordion,
    Block,
    Card,
    CardRow,
    Cell,
    Chart,
    Columns,
    Detail,
    Facts,
    Hero,
    Link,
    Notice,
    Page,
    Picture,
    Prose,
    Response,
    Table,
    Tiles,
)
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.sites.jobs_content import FIELDS, YEARS, Board, Company, Job, board
from webgym.worlds.words import listed

ADVICE: Final = {
    "a-letter-that-is-read": (
        "A letter that is read",
        ("Begin with the work, not with yourself.", "One page is enough.", "Name one result."),
    ),
    "the-first-interview": (
        "The first interview",
        ("Know the last three things they did.", "Bring questions.", "Say when you do not know."),
    ),
    "asking-for-more": (
        "Asking for more",
        ("Wait until they want you.", "Know what others are paid.", "Ask for time, too."),
    ),
}


def menu(site: Site, content: Board) -> tuple[Link, ...]:
    inside = tuple(Link(name, f"/jobs?{urlencode({'field': name})}") for name in FIELDS)
    return (
        Link("Find jobs", "/jobs", inside),
        Link("Companies", "/companies"),
        Link("Salaries", "/salaries"),
        Link("Career advice", "/advice"),
        Link("Saved jobs", "/saved"),
    )


def findable(content: Board) -> tuple[Entry, ...]:
    companies = [Entry(company.name, company.href, company.industry) for company in content.companies]
    return (*companies, *(Entry(job.name, job.href, f"{job.company}, {job.city}") for job in content.jobs))


def tagline(site: Site, content: Board) -> str:
    return f"{len(content.jobs)} openings at {len(content.companies)} employers."


kind: Final = Kind(
    "jobs",
    subdomain="Jobs & Career",
    words=("jobs", "careers", "hiring", "talent", "vacancies", "employment"),
    content=board,
    nav=menu,
    entries=findable,
    tagline=tagline,
    login=True,
)
has_accounts(kind, home="/saved")


def _card(job: Job) -> Card:
    return Card(
        job.name,
        job.href,
        price=job.pay,
        meta=(job.company, job.city, job.contract, job.place),
        text=f"We look for {', '.join(job.skills).lower()}. Apply until {job.deadline}.",
    )


saves(kind, "/saved", "Saved jobs", lambda content, ref: _card(job) if (job := content.job(ref)) else None, members=True)


@kind.page("/")
def home(visit: Visit[Board]) -> Response:
    site, content = visit.site, visit.content
    chance = site.draw("home")
    title = chance.choice(("Work that suits you", "Find your next job", "Good work, near you", "A new start"))
    hero = Hero(
        title,
        tagline(site, content),
        Picture("city", "hero", 900, 600),
        Link("See all jobs", "/jobs"),
        Link("Browse employers", "/companies"),
    )
    ways = Tiles(
        "Fields of work",
        tuple(
            (
                Link(name, f"/jobs?{urlencode({'field': name})}"),
                f"{sum(job.field == name for job in content.jobs)} jobs",
                None,
            )
            for name in FIELDS
        ),
    )
    newest = sorted(content.jobs, key=lambda job: (job.posted, job.ref), reverse=True)[:6]
    fresh = CardRow("New this week", tuple(map(_card, newest)), Link("More jobs", "/jobs"))
    employers = CardRow("Employers", tuple(map(_company_card, content.companies[:4])))
    tips = Accordion("Advice", tuple((title, " ".join(text)) for title, text in ADVICE.values()))
    rest: tuple[Block, ...] = (ways, fresh, employers, tips)
    at = site.style.layout % len(rest)
    return Page("Home", (hero, *rest[at:], *rest[:at]))


def _company_card(company: Company) -> Card:
    picture = Picture("city", company.slug, 600, 340)
    return Card(company.name, company.href, picture, meta=(company.industry, company.city), stars=company.score)


@kind.page("/jobs")
def jobs(visit: Visit[Board]) -> Response:
    listing = Listing(
        visit.content.jobs,
        _card,
        lambda job: f"{job.name} {job.company} {job.city} {job.field}",
        (
            Facet("field", "Field", lambda job: job.field),
            Facet("city", "City", lambda job: job.city),
            Facet("contract", "Contract", lambda job: job.contract),
            Facet("place", "Place of work", lambda job: job.place),
            Facet("level", "Experience", lambda job: job.level),
        ),
        (Limit("pay", "Minimum salary", lambda job: job.low, 0, 150_000, 5_000, lowest=True),),
        (
            Sort("pay", "Highest salary", lambda job: job.high, down=True),
            Sort("soon", "Closing soon", lambda job: job.deadline),
            Sort("new", "Newest", lambda job: job.posted, down=True),
        ),
        per_page=10,
        endless=visit.site.number("endless") % 2 == 0,
    )
    return Page("Jobs", (visit.listing(listing, "Open positions"),))


@kind.page("/jobs/{ref}")
def job_page(visit: Visit[Board]) -> Response:
    job = next((job for job in visit.content.jobs if job.href == visit.path), None)
    if job is None:
        return NOT_FOUND
    company = next(company for company in visit.content.companies if company.name == job.company)
    picture = Picture("city", company.slug, 720, 400)
    detail = Detail(
        job.name,
        (picture,),
        job.pay,
        badge=job.field,
        lead=f"{job.company} in {job.city} looks for someone who brings {listed(job.skills).lower()}.",
        rows=job.rows,
        buttons=(keep_button(job.ref, "Save this job"),),
        links=(Link("Apply now", f"/apply/{job.ref.lower()}"), Link(f"About {company.name}", company.href)),
    )
    text = Prose(
        "What you will do", ("You join a team of people who like their work.", "You decide with us how things are done.")
    )
    like = [other for other in visit.content.jobs if other.field == job.field and other is not job][:3]
    blocks: tuple[Block, ...] = (detail, text, CardRow("Similar jobs", tuple(map(_card, like)))) if like else (detail, text)
    return Page(job.name, blocks, (Link("Find jobs", "/jobs"), Link(job.ref, job.href)))


def application(job: Job) -> Form:
    who = (
        Field("name", "Full name"),
        Field("email", "E-mail", "email"),
        Field("phone", "Telephone", "tel"),
    )
    what = (
        Field("start", "Earliest start date", "date"),
        Field("pay", "Expected salary in dollars", "number", least=1000, most=500_000),
        Field("notice", "Notice period", "select", ("None", "1 month", "3 months", "6 months")),
    )
    papers = (
        Field("cv", "CV", "file", required=False, hint="Optional, PDF"),
        Field("letter", "Cover letter", "textarea", pattern=r".{10,}", wrong="Write at least ten characters."),
        Field("agree", "My data may be kept for this application", "checkbox"),
    )
    steps = (FormStep("About you", who), FormStep("The job", what), FormStep("Documents", papers))
    return Form(f"apply-{job.ref.lower()}", steps, submit="Send application")


@kind.page("/apply/{ref}")
def apply(visit: Visit[Board]) -> Response:
    job = visit.content.job(visit.argument("ref").upper())
    if job is None:
        return NOT_FOUND
    form = application(job)
    values = visit.filled(form)
    if values is None:
        side = Facts(job.name, job.rows[:8])
        return Page("Apply", (Columns(((visit.form(form),), (side,))),), heading=f"Apply: {job.title}")
    visit.memory.record("application", {"job": job.ref, **values})
    notice = Notice(f"{job.contact} will write to {values['email']}.", "good", "Application sent")
    return Page("Application sent", (notice,), heading="Thank you")


@kind.page("/companies")
def companies(visit: Visit[Board]) -> Response:
    return Page("Companies", (CardRow("", tuple(map(_company_card, visit.content.companies))),), heading="Companies")


@kind.page("/companies/{slug}")
def company_page(visit: Visit[Board]) -> Response:
    company = next((company for company in visit.content.companies if company.href == visit.path), None)
    if company is None:
        return NOT_FOUND
    detail = Detail(company.name, (Picture("city", company.slug, 720, 480),), badge=company.industry, rows=company.rows)
    chart = Chart("Employees", tuple((year, float(n)) for year, n in zip(YEARS, company.staff, strict=True)))
    good = Facts(
        "Benefits",
        tuple(
            (name, "Yes" if name in company.benefits else "No") for name in ("Free lunch", "Child care", "Company pension")
        ),
    )
    own = [job for job in visit.content.jobs if job.company == company.name]
    rows = tuple((Cell(job.name, job.href), job.city, Cell(job.pay, number=True)) for job in own)
    table = Table("Open positions", ("Job", "City", "Salary"), rows)
    return Page(
        company.name,
        (detail, Columns(((chart,), (good,))), table),
        (Link("Companies", "/companies"), Link(company.name, company.href)),
    )


@kind.page("/salaries")
def salaries(visit: Visit[Board]) -> Response:
    rows = tuple(
        (
            Cell(job.name, job.href),
            job.field,
            job.city,
            Cell(f"${job.low:,}", number=True),
            Cell(f"${job.high:,}", number=True),
        )
        for job in visit.content.jobs
    )
    table = Table("Every opening", ("Job", "Field", "City", "From", "To"), rows, sortable=True)
    return Page("Salaries", (table,), heading="Salaries")


@kind.page("/advice")
def advice(visit: Visit[Board]) -> Response:
    cards = tuple(
        Card(title, f"/advice/{slug}", Picture("book", slug), text=text[0]) for slug, (title, text) in ADVICE.items()
    )
    return Page("Career advice", (CardRow("", cards, big=True),), heading="Career advice")


@kind.page("/advice/{slug}")
def article(visit: Visit[Board]) -> Response:
    found = ADVICE.get(visit.argument("slug"))
    if found is None:
        return NOT_FOUND
    return Page(
        found[0], (Prose("", found[1]),), (Link("Career advice", "/advice"), Link(found[0], visit.path)), heading=found[0]
    )
