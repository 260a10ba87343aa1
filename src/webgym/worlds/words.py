"""Vocabularies that several kinds of site draw from: brands, people, places. Kinds keep their own subject's words."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """Names of more than one word, divided by bars: `phrases("Iced Tea|Lemonade")`."""
    return tuple(text.split("|"))


FIRST: Final = _words("""
    alder amber anchor apex arbor ash aspen aster atlas aurora autumn azure bay beacon birch blue bold bramble bright brook
    cedar cinder clear clover cobalt copper coral crest crown dale dawn delta drift dune east echo elm ember ever fair
    falcon fern fir flint forest fox frost gale garnet glen gold grand granite green grove harbor haven hazel heath heron
    high hill hollow indigo iron ivory ivy jade juniper kestrel lake lark laurel light linden lion loch lotus lumen lunar
    maple marble meadow merry mint mist moon moss nest nimbus noble north nova oak oaken ocean olive onyx opal orchid otter
    pearl pebble pine plum polar poplar prairie quartz quill quiet raven red reed ridge river robin rose rowan ruby rush
    sable sage salt sand scarlet shore silver sky slate snow solar sparrow spring spruce star stone storm summer sun swift
    sycamore teal thistle thorn tidal timber topaz true umber upland vale velvet verdant violet vista water west white wild
    willow wind winter wolf wren yarrow yellow zephyr
""")
SECOND: Final = _words("""
    acre arch bank bay beam bell berry bird bloom born bough bow branch bridge brook burrow cairn cape chase cliff cloud
    coast core cove crane creek cross crown dale deer den dock drop edge fall feather fell field finch fire fjord flame
    flower foot ford forge gate glade glass grain grass hall hart hatch haven hawk hearth hedge hill hive hold holm horn
    house isle keep key kin knoll lance land lane leaf ledge light line lock loft march mark marsh mead mere mill mont moor
    mouth nest path peak pier point pond port post quay rain reach ridge ring rise road rock root row sail seed shell shire
    side song spire spring spur stead stem stone stream swan tail thorn tide top tower trail tree vale view walk wall ward
    water wave way weald well wick wing wood yard
""")
GIVEN: Final = _words("""
    Ada Adele Aisha Alan Alice Amara Amir Ana Andre Anika Anton Arjun Astrid Beatriz Ben Bianca Bruno Camila Carl Cecilia
    Chen Chloe Clara Daniel Daria David Diego Edith Elena Elias Emil Emma Erik Esther Fatima Felix Fiona Freya Gabriel Grace
    Hana Hannah Hassan Helen Hugo Ibrahim Ida Ines Ingrid Isaac Ivan Jana Jasper Joana Jonas Julia Kai Karim Kenji Laila
    Lars Laura Leo Lina Lucia Magnus Maja Marco Maria Marta Mateo Maya Mei Mila Nadia Naomi Nils Noah Nora Olga Oliver Omar
    Paula Pedro Petra Priya Rafael Rania Rosa Samuel Sara Selma Simon Sofia Stella Tara Theo Thomas Tomas Uma Vera Victor
    Viola Yara Yusuf Zoe
""")
FAMILY: Final = _words("""
    Abbott Adeyemi Ahmed Alvarez Andersen Baker Banerjee Bauer Becker Bennett Berg Bianchi Bishop Blake Bouchard Brandt
    Brooks Carter Castillo Chandra Choi Clarke Cohen Cole Costa Cruz Dahl Davies Diaz Dubois Eriksen Evans Farouk Fischer
    Fleming Fontaine Foster Garcia Gray Greene Gupta Haddad Hale Hansen Harper Hartmann Hayashi Hughes Ito Ivanova Jansen
    Johansson Kaplan Keller Khan Kim Kovacs Kowalski Lambert Larsen Laurent Lindberg Lopez Marchetti Marino Marsh Meyer
    Mitchell Moreau Morgan Mueller Nakamura Nguyen Nielsen Novak Okafor Olsen Osman Park Patel Perez Petrov Quinn Ramos
    Reid Ricci Rivera Rossi Sato Schmidt Shah Silva Singh Sorensen Suzuki Tanaka Tran Turner Valdez Vega Vogel Wagner Walsh
    Weber Weiss Wood Yamamoto Young Zhang Zimmer
""")
CITIES: Final = _words("""
    Alderbrook Ashford Bayview Belmont Brighton Brookhaven Cambria Carlisle Cedarville Chester Clearwater Cliffside Concord
    Coventry Crestwood Dover Eastport Elmwood Fairview Falmouth Glenwood Granville Greenfield Hampton Harborview Hartford
    Hawthorne Hillcrest Kingston Lakewood Lancaster Linden Lynwood Maplewood Marlow Midvale Milford Newport Northgate
    Norwood Oakdale Oxford Pinehurst Plymouth Redwood Richmond Ridgefield Riverton Rockport Rosedale Salem Sheffield
    Somerset Southport Springvale Stratford Sutton Trenton Wakefield Westbury Weston Whitby Winslow Woodstock
""")
STREETS: Final = _words(
    "Acacia Bridge Canal Castle Chapel Church Garden High King Lake Market Mill Park Queen River School Station"
)


def person(one: int, two: int) -> str:
    """A full name by two numbers, so that a draw or a hash can pick it."""
    return f"{GIVEN[one % len(GIVEN)]} {FAMILY[two % len(FAMILY)]}"


def listed(items: list[str] | tuple[str, ...], last: str = "and") -> str:
    """Items as an English list."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def money(cents: int, sign: str = "$") -> str:
    return f"{'-' if cents < 0 else ''}{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02d}"
