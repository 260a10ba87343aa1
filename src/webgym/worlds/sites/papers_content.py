"""What a paper archive holds: fields, authors with their citations by year, papers with their versions."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN

# A field: what is studied in it, and by what means.
FIELDS: Final = {
    "Computer Science": (
        "Graph Partitioning|Visual Web Agents|Type Inference|Cache Coherence|Program Repair|Query Planning",
        "Contrastive Learning|Abstract Interpretation|Randomised Sketches|Integer Programming|Self-Play|Lazy Evaluation",
    ),
    "Physics": (
        "Superfluid Helium|Dark Matter Halos|Thin Films|Neutron Stars|Quantum Dots|Plasma Turbulence",
        "Lattice Simulation|Neutron Scattering|Tensor Networks|Weak Lensing|Cold Atoms|Spectroscopy",
    ),
    "Mathematics": (
        "Elliptic Curves|Random Matrices|Knot Invariants|Convex Bodies|Prime Gaps|Sparse Polynomials",
        "Spectral Methods|Sieve Bounds|Optimal Transport|Category Theory|Probabilistic Arguments|Tropical Geometry",
    ),
    "Biology": (
        "Protein Folding|Coral Bleaching|Gut Bacteria|Bird Migration|Plant Stress|Cell Division",
        "Single-Cell Sequencing|Field Surveys|Gene Editing|Bayesian Phylogenies|Time-Lapse Imaging|Metabolic Models",
    ),
    "Earth Science": (
        "Monsoon Onset|Glacier Retreat|Soil Carbon|Coastal Erosion|Volcanic Ash|River Deltas",
        "Satellite Altimetry|Ice Cores|Regional Models|Seismic Arrays|Isotope Records|Drone Mapping",
    ),
    "Economics": (
        "Housing Prices|Labour Mobility|Trade Shocks|School Choice|Energy Demand|Rural Credit",
        "Natural Experiments|Panel Data|Auction Theory|Structural Models|Survey Evidence|Difference-in-Differences",
    ),
}
TITLES: Final = (
    "{means} for {topic}",
    "Understanding {topic} with {means}",
    "A Second Look at {topic} through {means}",
    "{topic} Revisited: Evidence from {means}",
    "Scaling {means} to {topic}",
    "Limits of {means} in the Study of {topic}",
)
VENUES: Final = ("Annals", "Letters", "Transactions", "Proceedings", "Review", "Bulletin")
LICENCES: Final = ("CC BY 4.0", "CC BY-SA 4.0", "CC0 1.0", "Publisher licence")
SORTS: Final = ("Article", "Review", "Dataset paper", "Short communication")
MONTHS: Final = ("January", "March", "April", "June", "August", "September", "November")
YEARS: Final = tuple(range(2019, 2026))


@dataclass(frozen=True)
class Author:
    name: str
    institute: str
    h_index: int
    since: int
    cited: tuple[int, ...]  # by year

    @property
    def href(self) -> str:
        return f"/author/{self.name.lower().replace(' ', '-')}"


@dataclass(frozen=True)
class Paper:
    number: str
    title: str
    field: str
    sort: str
    authors: tuple[str, ...]
    year: int
    submitted: str
    venue: str
    pages: int
    figures: int
    citations: int
    references: int
    licence: str
    doi: str
    versions: tuple[tuple[str, str, int], ...]

    @property
    def href(self) -> str:
        return f"/paper/{self.number}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Identifier", self.number),
            ("Submitted", self.submitted),
            ("Published in", self.venue),
            ("Pages", f"{self.pages} pages"),
            ("Figures", f"{self.figures} figures"),
            ("Citations", f"{self.citations:,} citations"),
            ("Licence", self.licence),
            ("DOI", self.doi),
        )


@dataclass(frozen=True)
class Archive:
    papers: tuple[Paper, ...]
    authors: tuple[Author, ...]
    fields: tuple[str, ...]

    def paper(self, number: str) -> Paper | None:
        return next((paper for paper in self.papers if paper.number == number), None)

    def by(self, author: Author) -> tuple[Paper, ...]:
        return tuple(paper for paper in self.papers if author.name in paper.authors)


def archive(site: Site) -> Archive:
    chance = site.draw("archive")
    fields = tuple(sorted(chance.sample(sorted(FIELDS), 4)))
    institutes = [f"{kind} of {city}" for city in chance.sample(CITIES, 9) for kind in ("University", "Institute")][::2]
    names = {f"{given} {family}" for given, family in zip(chance.sample(GIVEN, 26), chance.sample(FAMILY, 26), strict=True)}
    authors = tuple(
        Author(
            name,
            chance.choice(institutes),
            chance.randrange(4, 78),
            chance.randrange(1994, 2019),
            tuple(chance.randrange(12, 900) for _ in YEARS),
        )
        for name in sorted(names)
    )
    papers: list[Paper] = []
    titles: list[str] = []
    for number in range(66):
        field = chance.choice(fields)
        topics, means = (part.split("|") for part in FIELDS[field])
        title = chance.choice(TITLES).format(topic=chance.choice(topics), means=chance.choice(means))
        if not distinct(titles, title):
            continue
        titles.append(title)
        papers.append(_paper(chance, number, title, field, authors))
    return Archive(tuple(papers), authors, fields)


def _paper(chance: random.Random, number: int, title: str, field: str, authors: tuple[Author, ...]) -> Paper:
    year, month = chance.choice(YEARS), chance.randrange(len(MONTHS))
    day = chance.randrange(1, 28)
    code = f"{year % 100}{month + 1:02d}.{10_000 + number * 137 + chance.randrange(130)}"
    return Paper(
        number=code,
        title=title,
        field=field,
        sort=chance.choice(SORTS),
        authors=tuple(author.name for author in chance.sample(authors, chance.randrange(1, 5))),
        year=year,
        submitted=f"{day} {MONTHS[month]} {year}",
        venue=f"{field} {chance.choice(VENUES)}",
        pages=chance.randrange(4, 62),
        figures=chance.randrange(1, 19),
        citations=chance.randrange(0, 2400),
        references=chance.randrange(12, 140),
        licence=chance.choice(LICENCES),
        doi=f"10.{chance.randrange(1000, 9999)}/{code}",
        versions=tuple(
            (f"v{n + 1}", f"{day} {MONTHS[min(month + n, 6)]} {year}", chance.randrange(180, 4200))
            for n in range(chance.randrange(1, 4))
        ),
    )


def distinct(names: list[str], name: str) -> bool:
    """Whether a name begins none of these and none of these begins it: links are followed by how their text begins."""
    return not name.startswith(tuple(names)) and not any(other.startswith(name) for other in names)
