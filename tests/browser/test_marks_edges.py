"""Set-of-Marks where what is on the screen belongs to something that is not, has no box, or has a tree of its own."""

import json

import pytest

from tests.browser.conftest import House, Visit

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Scrolled by 1,500 pixels, with more of it above the view and below.
PAGE = """
<style>
.here { position: absolute; top: 1600px }
.above { position: absolute; top: 0 }
.below { position: absolute; top: 3000px }
.fixed { position: fixed; top: 300px }
</style>
<p style="height: 4000px"></p>
"""
POINTER = '<div style="cursor: pointer; width: 120px">'
EDGES = {
    "fixed, of what is above": (
        '<section class="above"><a href="/" class="fixed">it</a></section>',
        ["it"],
    ),
    "fixed, of what is below": (
        '<section class="below"><a href="/" class="fixed">it</a></section>',
        ["it"],
    ),
    "lifted out of what is below": (
        '<section class="below"><a href="/" style="position: absolute; top: -1400px">it</a></section>',
        ["it"],
    ),
    "hanging out of what is above": (
        f'<section class="above" style="height: 50px"><p style="height: 1600px">{POINTER}it</div></section>',
        ["it"],
    ),
    "scrolled to inside of what is on the screen": (
        f'<section class="here" style="height: 100px; overflow: auto">{POINTER}it</div><p style="height: 900px">'
        f"{POINTER}not yet</div></section>",
        ["it"],
    ),
    "in a parent of no height": (f'<section class="here" style="height: 0">{POINTER}it</div></section>', ["it"]),
    "in a parent without a box": (
        f'<section style="display: contents"><div style="display: contents"><div class="here">{POINTER}it</div></div></div>'
        '<a href="/" class="fixed">and it</a></section>',
        ["it", "and it"],
    ),
    "in a pointer's own inside": (
        '<div class="here" style="cursor: pointer"><p>one <b>and</b> all</p><a href="/">a link in it</a></div>',
        ["one and all a link in it", "a link in it"],
    ),
    "in a link's own inside": (
        '<a href="/" class="here"><span style="cursor: pointer">a <b>link</b></span></a>',
        ["a link"],
    ),
    "in a link's corner": (
        '<a href="/" class="here" style="display: block"><button style="display: block; width: 100%">both</button></a>',
        ["both", "both"],
    ),
    "in a shadow root": (
        f'<section class="here"><template shadowrootmode="open">{POINTER}it</div></template></section>',
        ["it"],
    ),
    "in a shadow root of no box": (
        '<section style="display: contents"><template shadowrootmode="open"><button class="fixed" '
        'style="position: fixed; top: 200px">it</button></template></section>',
        ["it"],
    ),
    "in a shadow root's slot": (
        f'<section class="here"><template shadowrootmode="open"><slot></slot></template>{POINTER}it</div></section>',
        ["it"],
    ),
    "in a shadow root that is below": (
        '<section class="below"><template shadowrootmode="open"><button>no</button></template></section>',
        [],
    ),
    "in a frame that is scrolled": (
        '<iframe class="here" height="100" srcdoc="<p style=height:500px><button>no</button></p><button>it</button>'
        '<script>scrollTo(0, 9999)</script>"></iframe>',
        ["it"],
    ),
    "in a frame that is below": (
        '<iframe class="below" srcdoc="<button>no</button>"></iframe>',
        [],
    ),
    "a label whose control is elsewhere": (
        '<label for="away" class="here">styled</label><input id="away" type="checkbox" class="below">',
        ["styled"],
    ),
    "a label that is elsewhere": (
        '<label for="here" class="above">far</label><input id="here" class="here" type="checkbox">',
        ["far"],
    ),
    "a label of what is disabled": ('<label class="here">styled <input disabled></label>', []),
    "a label before its control, and behind": (
        '<p class="here"><label for="one">first</label><input id="one"><input id="two"><label for="two">second</label></p>',
        ["first", "second"],
    ),
    "in a form whose fields are called like what is asked of it": (
        '<form class="here" tabindex="0"><input name="matches" aria-label="it"></form><a href="/" class="fixed">and it</a>',
        ["it", "and it"],
    ),
    "in a form that its field leads back into": (
        '<form class="here"><button style="width: 90px; height: 90px">covered</button>'
        '<input name="parentNode" aria-label="it">'
        '<input type="hidden" name="nextElementSibling"></form>'
        '<a href="/" class="here" style="position: absolute; width: 95px; height: 95px">and it</a>',
        ["and it", "it"],
    ),
    "in forms that answer otherwise than was asked": (
        '<form class="here" tabindex="0"><input type="hidden" name="getAttribute"><input aria-label="it"></form>'
        '<form class="fixed"><input type="hidden" name="getBoundingClientRect"><input type="hidden" name="shadowRoot">'
        '<input aria-label="and it"></form>',
        ["", "it", "and it"],
    ),
    "an option of a list, and of one that is closed": (
        '<select class="here" size="2"><option>open<option>wide</select><select class="fixed"><option>no</select>',
        ["", "open", "wide", ""],
    ),
}


@pytest.mark.parametrize(("html", "names"), EDGES.values(), ids=EDGES.keys())
async def test_what_is_on_the_screen_is_marked_wherever_it_hangs(visit: Visit, house: House, html: str, names: list[str]):
    page = await visit("/status/200", image="none")
    await house.ask(page, f"document.body.setHTMLUnsafe({json.dumps(PAGE + html)}); scrollTo(0, 1500); null", type(None))
    seen = await page.look(marks=True, image="none")
    assert seen.scroll.y == 1500
    assert [mark.name for mark in seen.marks or ()] == names
