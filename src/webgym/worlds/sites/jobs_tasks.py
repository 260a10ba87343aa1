"""Tasks of the job board: look up, compare salaries, filter, collect, apply in steps, save."""

from __future__ import annotations

from dataclasses import replace

from webgym.worlds.account import credentials, login_moves
from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Open, Press, Search, See, SortBy, Tick
from webgym.worlds.saved import save_some
from webgym.worlds.sites.jobs import kind
from webgym.worlds.sites.jobs_content import YEARS, Board, Company, Job
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN


def _job(job: Job) -> Topic:
    return Topic(
        job.name,
        job.href,
        f"the job {job.title} (reference {job.ref})",
        (
            Known("lowest yearly salary", f"${job.low}", f"${job.low:,} a year"),
            Known("highest yearly salary", f"${job.high}", f"${job.high:,} a year"),
            Known("weekly hours", str(job.hours), f"{job.hours} hours"),
            Known("number of holidays a year", str(job.holiday), f"{job.holiday} days a year"),
            Known("application deadline", job.deadline),
            Known("contact person", job.contact),
            Known("contract type", job.contract),
        ),
        (Search(job.ref), Open(job.name)),
        (job.ref,),
    )


def _company(company: Company) -> Topic:
    staff = dict(zip(YEARS, company.staff, strict=True))
    knowns = (
        Known("industry", company.industry),
        Known("city of the head office", company.city),
        Known("founding year", str(company.founded)),
        Known("chief executive", company.head),
        Known("rating by staff", f"{company.score:.1f}", f"{company.score:.1f} of 5"),
        *(Known(f"number of employees in {year}", str(staff[year])) for year in YEARS[-2:]),
    )
    return Topic(company.name, company.href, f"the company {company.name}", knowns)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Board]) -> Draft:
    topics = [*map(_job, make.content.jobs), *map(_company, make.content.companies)]
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I may apply for something. Tell me {}.",
        "Check this job board for {}.",
    )
    return look_up(make, topics, lambda topic: topic, openings)


@kind.task("compare", [(3, 5)])
def compared(make: Maker[Board]) -> Draft:
    asked = "highest yearly salary"
    return compare(make, make.content.jobs, _job, asked, lambda job: job.high, "best paid job")


@kind.task("filter", [(1, 4)])
def narrow(make: Maker[Board]) -> Draft:
    field = make.one(sorted({job.field for job in make.content.jobs}))
    inside = [job for job in make.content.jobs if job.field == field]
    by = make.one(("Contract", "Place of work", "Experience"))
    value = make.one(sorted({_side(job, by) for job in inside}))
    fitting = [job for job in inside if _side(job, by) == value]
    best = one_best(make, fitting, lambda job: job.high)
    way = (Open("Find jobs"), Filter("Field", field), Filter(by, value), SortBy("Highest salary"), Open(best.name))
    ask = f"the job with the highest top salary in {field} with {by.lower()} “{value}”"
    return best_fit(
        make, _job(best), map(_job, fitting), ask, way, ("Find {}.", "Use the filters to find {}.", "I am looking for {}.")
    )


def _side(job: Job, by: str) -> str:
    return {"Contract": job.contract, "Place of work": job.place, "Experience": job.level}[by]


@kind.task("collect", [(4, 10)])
def collect(make: Maker[Board]) -> Draft:
    openings = ("Collect {}.", "For my job hunt, note {}.", "List {}.")
    if make.shape[0] <= len(make.content.companies) and make.chance.random() < 0.4:
        companies = make.some(make.content.companies, make.shape[0])
        return each(make, list(map(_company, companies)), make.one(("founding year", "chief executive")), openings)
    jobs = make.some(make.content.jobs, make.shape[0])
    return each(make, list(map(_job, jobs)), make.one(("application deadline", "weekly hours", "contact person")), openings)


@kind.task("apply", [(1, 6)])
def apply(make: Maker[Board]) -> Draft:
    chance, job = make.chance, make.one(make.content.jobs)
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    email = f"{name.split()[0].lower()}{chance.randrange(10, 99)}@example.com"
    start = f"2026-{chance.randrange(7, 13):02d}-01"
    pay, notice = str(chance.randrange(30, 120) * 1000), chance.choice(("None", "1 month", "3 months", "6 months"))
    entered = (
        Entered("job", job.ref, f"for {job.title} (reference {job.ref})"),
        Entered("name", name, f"as {name}"),
        Entered("email", email, f"with the e-mail {email}"),
        Entered("start", start, f"starting on {start} at the earliest"),
        Entered("pay", pay, f"expecting a salary of {pay} dollars"),
        Entered("notice", notice, f"notice period {notice}"),
    )
    ask, facts = submitted(make, "application", "An application is sent", entered)
    route = (
        *_job(job).way,
        Open("Apply now"),
        Fill("Full name", name),
        Fill("E-mail", email),
        Fill("Telephone", "555-2040"),
        Press("Continue"),
        Fill("Earliest start date", start),
        Fill("Expected salary in dollars", pay),
        Choose("Notice period", notice),
        Press("Continue"),
        Fill("Cover letter", "I would like to work with you."),
        Tick("My data may be kept for this application"),
        Press("Send application"),
        See(("Application sent",)),
    )
    openings = ("Apply {}. Invent whatever else the form asks for.", "Send an application {}; the rest is up to you.")
    return Draft(openings, (Group(ask, "The application", facts, route),))


@kind.task("save", [(1, 4)])
def save(make: Maker[Board]) -> Draft:
    account = make.site.account
    openings = (
        f"Sign in ({credentials(account)}) and save {{}}, and nothing else.",
        f"Put exactly this on my list of saved jobs: {{}}. My log-in is {credentials(account)}.",
    )
    saved = save_some(make, make.content.jobs, _job, lambda job: job.ref, "Save this job", "Saved jobs", openings)
    return replace(saved, start=login_moves(account))
