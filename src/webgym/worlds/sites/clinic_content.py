"""What a clinic holds: doctors of several fields, treatments, and leaflets for patients in four languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import FAMILY, GIVEN, money, phrases

FIELDS: Final = {
    "General practice": "Health Check|Blood Pressure Check|Travel Consultation|Flu Vaccination",
    "Cardiology": "Stress Test|Heart Ultrasound|Rhythm Monitoring|Cardiac Consultation",
    "Dermatology": "Mole Screening|Eczema Consultation|Light Therapy|Laser Treatment",
    "Orthopaedics": "Knee Examination|Back Consultation|Shoulder Injection|Gait Analysis",
    "Paediatrics": "Infant Check-up|School Medical|Growth Consultation|Child Vaccination",
    "Eye care": "Vision Test|Cataract Consultation|Pressure Measurement|Lens Fitting",
    "Neurology": "Migraine Consultation|Sleep Study|Nerve Conduction Test|Memory Assessment",
    "Dentistry": "Tooth Cleaning|Root Canal|Crown Fitting|Orthodontic Check",
}
TONGUES: Final = phrases("German|French|Spanish|Arabic|Hindi|Polish|Turkish|Portuguese|Mandarin")
DAYS: Final = phrases("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday")
TIMES: Final = ("08:30", "09:15", "10:45", "11:30", "13:15", "14:00", "15:30", "16:15")
SPEECHES: Final = (("en", "English"), ("de", "Deutsch"), ("fr", "Français"), ("es", "Español"))
TITLES: Final = {
    "Blood sample": ("Blutabnahme", "Prise de sang", "Análisis de sangre"),
    "X-ray picture": ("Röntgenaufnahme", "Radiographie", "Radiografía"),
    "Allergy testing": ("Allergietest", "Test allergologique", "Prueba de alergia"),
    "Ultrasound scan": ("Ultraschall", "Échographie", "Ecografía"),
    "Vaccination day": ("Impftermin", "Jour de vaccination", "Día de vacunación"),
    "Small surgery": ("Kleiner Eingriff", "Petite intervention", "Cirugía menor"),
    "Sleep laboratory": ("Schlaflabor", "Laboratoire du sommeil", "Laboratorio del sueño"),
}
# Before, afterwards, results and whom to call, with the leaflet's own numbers.
SENTENCES: Final = {
    "en": (
        "Do not eat for {fast} hours before the appointment.",
        "Afterwards, rest in our waiting room for {rest} minutes.",
        "Results are ready after {result} days.",
        "Questions? Call extension {line}.",
    ),
    "de": (
        "Essen Sie {fast} Stunden vor dem Termin nichts.",
        "Ruhen Sie sich danach {rest} Minuten im Wartezimmer aus.",
        "Das Ergebnis liegt nach {result} Tagen vor.",
        "Fragen? Durchwahl {line}.",
    ),
    "fr": (
        "Ne mangez rien pendant {fast} heures avant le rendez-vous.",
        "Reposez-vous ensuite {rest} minutes en salle d'attente.",
        "Les résultats sont prêts après {result} jours.",
        "Des questions ? Poste {line}.",
    ),
    "es": (
        "No coma nada durante {fast} horas antes de la cita.",
        "Después, descanse {rest} minutos en la sala de espera.",
        "Los resultados están listos después de {result} días.",
        "¿Preguntas? Extensión {line}.",
    ),
}


@dataclass(frozen=True)
class Doctor:
    slug: str
    name: str
    field: str
    room: str
    line: int
    since: int
    speaks: str
    day: str
    fee: int
    stars: float
    votes: int

    @property
    def href(self) -> str:
        return f"/doctors/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Room", self.room),
            ("Telephone extension", str(self.line)),
            ("In practice since", str(self.since)),
            ("Languages", f"English and {self.speaks}"),
            ("Late surgery on", self.day),
            ("First consultation", money(self.fee)),
        )


@dataclass(frozen=True)
class Treatment:
    slug: str
    name: str
    field: str
    minutes: int
    cents: int
    fast: int
    rest: int
    visits: int

    @property
    def href(self) -> str:
        return f"/treatments/{self.slug}"


@dataclass(frozen=True)
class Leaflet:
    slug: str
    titles: dict[str, str]
    fast: int
    rest: int
    result: int
    line: int

    @property
    def href(self) -> str:
        return f"/leaflets/{self.slug}"

    def text(self, speech: str) -> tuple[str, ...]:
        values = {"fast": self.fast, "rest": self.rest, "result": self.result, "line": self.line}
        return tuple(sentence.format(**values) for sentence in SENTENCES[speech])


@dataclass(frozen=True)
class House:
    fields: tuple[str, ...]
    doctors: tuple[Doctor, ...]
    treatments: tuple[Treatment, ...]
    leaflets: tuple[Leaflet, ...]
    hours: tuple[tuple[str, str], ...]


def house(site: Site) -> House:
    chance = site.draw("clinic")
    fields = tuple(sorted(chance.sample(sorted(FIELDS), 6)))
    names, lines = set[str](), chance.sample(range(100, 999), 60)
    doctors: list[Doctor] = []
    for field in fields:
        for _ in range(chance.randrange(4, 7)):
            who = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
            if who in names:
                continue
            names.add(who)
            doctors.append(
                Doctor(
                    who.lower().replace(" ", "-"),
                    f"Dr. {who}",
                    field,
                    f"{chance.choice('ABCD')}{chance.randrange(101, 420)}",
                    lines.pop(),
                    chance.randrange(1988, 2024),
                    chance.choice(TONGUES),
                    chance.choice(DAYS),
                    chance.randrange(8, 40) * 500,
                    chance.randrange(34, 51) / 10,
                    chance.randrange(5, 400),
                )
            )
    treatments = tuple(
        Treatment(
            name.lower().replace(" ", "-"),
            name,
            field,
            chance.randrange(3, 25) * 5,
            chance.randrange(30, 900) * 100,
            chance.randrange(1, 13),
            chance.randrange(1, 13) * 5,
            chance.randrange(1, 7),
        )
        for field in fields
        for name in phrases(FIELDS[field])
    )
    leaflets = tuple(
        Leaflet(
            name.lower().replace(" ", "-"),
            dict(zip(("en", "de", "fr", "es"), (name, *others), strict=True)),
            chance.randrange(2, 13),
            chance.randrange(2, 13) * 5,
            chance.randrange(2, 22),
            lines.pop(),
        )
        for name, others in TITLES.items()
    )
    hours = tuple((day, f"{chance.choice((7, 8, 9))}:00 to {chance.choice((13, 16, 18, 20))}:30") for day in DAYS)
    return House(fields, tuple(doctors), treatments, leaflets, hours)
