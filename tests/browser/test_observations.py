"""Observations: what an agent is told of the page, and in which form."""

import asyncio
import hashlib
import socket
from typing import Any

import pytest

from tests.browser.conftest import House, Visit, picture
from tests.site.tls import TlsSite
from webgym import types as t
from webgym.errors import BrowserError
from webgym.server.frame import Frame
from webgym.server.marks import MAX_MARKS
from webgym.server.observe import MAX_TEXT

pytestmark = pytest.mark.asyncio(loop_scope="session")


# the picture


async def test_the_picture_is_a_jpeg_of_the_screen_unless_asked_otherwise(visit: Visit):
    seen = (await visit("/docs-long")).first
    assert seen.screenshot is not None
    assert seen.screenshot.data.startswith(b"\xff\xd8\xff")
    assert (seen.screenshot.format, seen.screenshot.width, seen.screenshot.height) == ("jpeg", 1280, 768)
    assert picture(seen).size == (1280, 768)
    assert seen.screenshot.sha256 == hashlib.sha256(seen.screenshot.data).hexdigest()


async def test_quality_trades_detail_for_bytes(visit: Visit):
    page = await visit("/docs-long")
    sizes = []
    for quality in (20, 80, 95):
        seen = await page.look(quality=quality)
        assert seen.screenshot is not None
        sizes.append(len(seen.screenshot.data))
    assert sizes == sorted(sizes)
    assert page.first.screenshot is not None
    assert len(page.first.screenshot.data) == sizes[1], "80 is the default"


async def test_a_png_is_the_screen_to_the_pixel(visit: Visit, house: House):
    page = await visit("/form", image="png")
    await house.ask(page, "document.body.innerHTML = ''; document.body.style.background = 'rgb(1, 2, 3)'; null", type(None))
    seen = await page.look(image="png")
    assert seen.screenshot is not None
    assert seen.screenshot.data.startswith(b"\x89PNG")
    assert set(picture(seen).getcolors(16) or ()) == {(1280 * 768, (1, 2, 3))}


async def test_no_picture_on_request(visit: Visit):
    seen = (await visit("/form", image="none")).first
    assert seen.screenshot is None
    assert not seen.unchanged
    assert seen.title == "Form"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (224, 160), (1920, 1080)])
async def test_the_screen_has_the_size_that_was_asked_for(visit: Visit, house: House, width, height):
    page = await visit("/form", options={"viewport": {"width": width, "height": height}}, image="png")
    assert picture(page.first).size == (width, height)
    assert await house.ask(page, "[innerWidth, innerHeight, devicePixelRatio]", list) == [width, height, 1]
    seen = await page.step(t.NewTab(url=house.site.url("/counter")))
    assert picture(seen).size == (width, height)


async def test_an_unchanged_page_is_told_and_a_changed_one_too(visit: Visit):
    page = await visit("/counter")
    assert not page.first.unchanged
    assert (await page.look()).unchanged
    assert (await page.step(t.Click(x=900, y=700))).unchanged
    assert not (await page.step(t.Click(x=100, y=40))).unchanged
    assert not (await page.look(image="png")).unchanged, "another format is another picture"


@pytest.mark.parametrize("field", ["#name", "#notes", "body"])
async def test_a_blinking_caret_is_no_change_and_is_always_seen(visit: Visit, house: House, field):
    page = await visit("/form")
    setup = f"const field = document.querySelector('{field}'); field.contentEditable = 'true'; field.focus(); null"
    await house.ask(page, "{ " + setup + " }", type(None))
    bare = await house.ask(page, "document.body.style.caretColor = 'transparent'; null", type(None)) or await page.look()
    await house.ask(page, "document.body.style.caretColor = ''; null", type(None))
    first = await page.look()
    if field != "body":
        assert first.screenshot != bare.screenshot, "the caret is there"
    for pause in (0.3, 0.2, 0.35):
        await asyncio.sleep(pause)
        assert (await page.look()).unchanged


async def test_holding_the_caret_leaves_the_document_alone_and_ends_with_the_focus(visit: Visit, house: House):
    page = await visit("/form")
    await house.ask(
        page,
        "globalThis.seen = 0; new MutationObserver(() => seen++).observe(document, "
        "{subtree: true, childList: true, attributes: true, characterData: true}); "
        "document.querySelector('#name').focus(); null",
        type(None),
    )
    await page.look()
    await page.look()
    assert await house.ask(page, "document.activeElement.blur(); seen", int) == 0
    await page.look()
    assert await house.ask(
        page, "[document.getAnimations().length, getComputedStyle(document.querySelector('#name')).caretAnimation]", list
    ) == [0, "auto"]


# the page


async def test_a_document_has_its_status_and_its_final_address(visit: Visit, house: House):
    page = await visit("/redirect?to=/counter")
    assert (page.first.url, page.first.status, page.first.title) == (house.site.url("/counter"), 200, "count 0")
    seen = await page.step(t.Navigate(url=house.site.url("/status/503")))
    assert (seen.status, seen.title, seen.navigation_error) == (503, "Status 503", None)
    seen = await page.step(t.Navigate(url="about:blank"))
    assert (seen.status, seen.title, seen.url) == (None, "", "about:blank")


async def test_the_scroll_position_and_the_size_of_the_page_are_told(visit: Visit):
    page = await visit("/scroll")
    scroll = (await page.step(t.Scroll(dx=100, dy=300))).scroll
    assert (scroll.x, scroll.y, scroll.width, scroll.height) == (100, 300, 3840, 3840)


async def test_dialogs_are_dismissed_and_told_once(visit: Visit):
    page = await visit("/dialogs")
    seen = await page.step(t.Click(x=280, y=40))
    assert seen.dialogs == (t.Dialog(kind="confirm", message="are you sure?"),)
    assert seen.title == "confirm false"
    seen = await page.step(t.Click(x=640, y=40))
    assert [dialog.message for dialog in seen.dialogs] == ["alert 1", "alert 2", "alert 3"]
    assert (await page.look()).dialogs == ()


async def test_a_download_is_told_and_is_no_navigation_error(visit: Visit, house: House):
    page = await visit("/downloads")
    seen = await page.step(t.Click(x=100, y=40))
    if not seen.downloads or seen.downloads[0].state == "running":
        seen = await page.step(t.Wait(seconds=0.3))
    (download,) = seen.downloads
    assert (download.name, download.state, download.size) == ("hello.txt", "done", 6)
    assert (seen.title, seen.navigation_error) == ("Downloads", None)
    file = house.worker.sessions.file(page.started.id, page.started.lease.token, "hello.txt")
    assert file.read_bytes() == b"hello\n"
    assert (await page.look()).downloads == ()


@pytest.mark.parametrize("path", ["/bench/image/0.png", "/live/items?page=0", "/style.css"])
async def test_a_document_that_is_no_page_is_shown_all_the_same(visit: Visit, path):
    seen = (await visit(path, marks=True, accessibility=True, text=True)).first
    assert (seen.status, seen.navigation_error) == (200, None)
    assert seen.screenshot is not None
    assert seen.marks is not None


async def test_settling_is_told(visit: Visit):
    seen = (await visit("/counter")).first
    assert 100 <= seen.settled.ms < 5000
    assert seen.settled.capped == ()


# what could not be loaded


def closed_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://no-such-host.invalid/", "net::ERR_NAME_NOT_RESOLVED"),
        (f"http://site.localhost:{closed_port()}/", "net::ERR_CONNECTION_REFUSED"),
        ("http://site.localhost:9/", "net::ERR_UNSAFE_PORT"),
        ("/redirect-loop", "net::ERR_TOO_MANY_REDIRECTS"),
        ("/status/204", "net::ERR_ABORTED: the address answered without a page to show"),
    ],
    ids=["no such host", "nobody listens", "unsafe port", "redirects in a circle", "no content"],
)
async def test_a_page_that_cannot_be_loaded_is_told_in_words(visit: Visit, house: House, url, told):
    page = await visit("/counter")
    seen = await page.step(t.Navigate(url=url if "://" in url else house.site.url(url)))
    assert (seen.navigation_error or "").startswith(told)
    assert seen.action_error is None
    assert seen.screenshot is not None
    seen = await page.step(t.Navigate(url=house.site.url("/form")))
    assert (seen.navigation_error, seen.title) == (None, "Form")


async def test_a_bad_certificate_is_told(visit: Visit):
    async with TlsSite() as tls:
        seen = (await visit(tls.url("/"))).first
        assert (seen.navigation_error or "").startswith("net::ERR_CERT_")
        assert seen.url == tls.url("/")
        assert tls.hits["/"] == 0


async def test_a_server_that_never_answers_is_given_up(visit: Visit, house: House):
    page = await visit("/counter")
    seen = await page.step(t.Navigate(url=house.site.url("/never")))
    assert (seen.navigation_error, seen.settled.capped) == ("net::ERR_TIMED_OUT: no answer in 3 s", ("commit",))
    assert seen.title == "count 0", "the page before is still there"
    seen = await page.step(t.Click(x=100, y=40))
    assert (seen.title, seen.navigation_error) == ("count 1", None)


async def test_an_error_lasts_as_long_as_its_page(visit: Visit):
    page = await visit("http://no-such-host.invalid/")
    assert page.first.navigation_error is not None
    assert (await page.look()).navigation_error == page.first.navigation_error


# words


async def outline_of(house: House, visit: Visit, body: str) -> str:
    page = await visit("/status/200", image="none")
    await house.ask(page, f"document.body.innerHTML = {body!r}; null", type(None))
    return (await page.look(accessibility=True, image="none")).accessibility or ""


async def test_the_outline_names_what_is_on_the_screen(visit: Visit):
    outline = (await visit("/form", accessibility=True)).first.accessibility or ""
    for line in (
        'textbox "Name"',
        'textbox "prefilled" (value "old text")',
        'button "Send"',
        'heading level 1 "Form"',
        'textbox "Notes"',
        'checkbox "I agree" (not checked)',
        'radio "red" (not checked)',
        'combobox "Size" (value "small")',
    ):
        assert line in outline


@pytest.mark.parametrize(
    "hidden",
    [
        '<p style="visibility: hidden">secret</p>',
        '<p style="opacity: 0">secret <a href="/">secret</a></p>',
        '<p style="display: none">secret</p>',
        "<p hidden>secret</p>",
        '<p style="position: absolute; left: -9999px">secret</p>',
        '<div style="position: absolute; left: -9999px"><b>secret</b></div>',
        "<p inert>secret <button>secret</button></p>",
        '<p aria-hidden="true">secret</p>',
        '<div style="height: 20px; overflow: hidden"><p>seen</p><p>secret</p><button>secret</button></div>',
        '<div style="height: 3000px">seen</div>secret',
        '<button>seen<span style="display: none">secret</span></button>',
        "<script>secret</script><template>secret</template><style>secret {}</style>",
    ],
)
async def test_the_outline_keeps_what_is_hidden_to_itself(visit: Visit, house: House, hidden):
    outline = await outline_of(house, visit, "<h1>Page</h1>" + hidden)
    assert 'heading level 1 "Page"' in outline
    assert "secret" not in outline
    assert ("seen" in outline) == ("seen" in hidden)


async def test_a_hidden_parent_does_not_hide_a_visible_child(visit: Visit, house: House):
    body = '<div style="visibility: hidden">secret<b style="visibility: visible">seen</b></div>'
    outline = await outline_of(house, visit, body)
    assert 'text "seen"' in outline
    assert "secret" not in outline


async def test_a_name_does_not_swallow_what_can_be_acted_on(visit: Visit, house: House):
    outline = await outline_of(
        house,
        visit,
        '<label>Colour <select><option>red<option>blue</select></label><label>Say <input value="hi"></label>'
        '<h2>News <a href="/">more</a></h2><table><tr><th>Price <button>sort</button></th></tr></table>',
    )
    lines = [line.strip() for line in outline.splitlines()]
    assert 'combobox "Colour" (value "red")' in lines
    assert 'textbox "Say" (value "hi")' in lines
    assert 'heading level 2 "News more"' in lines
    assert 'link "more"' in lines
    assert 'button "sort"' in lines
    assert 'text "Colour"' not in lines, "the label is said once"


async def test_long_words_are_cut_and_flagged(visit: Visit):
    seen = (await visit("/links-50k", accessibility=True, text=True, marks=True)).first
    assert {"marks", "text"} <= set(seen.truncated)
    assert 0 < len(seen.marks or ()) <= MAX_MARKS
    assert seen.text is not None
    assert len(seen.text) == MAX_TEXT
    assert seen.accessibility is not None
    assert len(seen.accessibility) <= t.MAX_OUTLINE


async def test_a_huge_document_is_looked_at_within_its_time(visit: Visit, house: House):
    page = await visit("/million-nodes?n=150000", accessibility=True, text=True, marks=True)
    assert "nodes" in page.first.title
    assert page.first.screenshot is not None
    # Whether the outline is whole depends on how fast the machine is: with no time at all it is cut on any.
    frame = house.context(page).active.frame
    none = await frame.run("webgym.outline({most: 1e7, ms: -1})", dict[str, Any], within=60)
    assert none == {"text": "", "truncated": True}


async def test_a_long_outline_is_cut_and_flagged(visit: Visit, house: House):
    page = await visit("/status/200", image="none")
    await house.ask(
        page,
        "document.body.style.cssText = 'line-height: 0.001'; document.body.innerHTML = "
        "Array.from({length: 3000}, (_, n) => `<div>words enough to fill an outline ${n}</div>`).join(''); null",
        type(None),
    )
    seen = await page.look(accessibility=True, image="none")
    assert seen.truncated == ("accessibility",)
    assert len(seen.accessibility or "") <= t.MAX_OUTLINE


async def test_the_words_of_a_large_page_are_read_within_their_time(visit: Visit, house: House):
    page = await visit("/million-nodes?n=120000", image="none")
    await house.ask(
        page, "document.querySelectorAll('#nodes p').forEach((p, n) => p.prepend(`row ${n} `)); null", type(None)
    )
    frame = house.context(page).active.frame
    whole = await frame.run("webgym.text({most: 1e7, ms: 60000})", dict[str, Any], within=60)
    assert whole["text"].split() == (await frame.run("document.body.innerText", str, within=60)).split()
    assert not whole["truncated"]
    none = await frame.run("webgym.text({most: 1e7, ms: -1})", dict[str, Any], within=60)
    assert none["truncated"]
    assert len(none["text"]) < 1000


async def test_words_that_do_not_come_in_time_are_flagged_and_the_session_goes_on(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
):
    page = await visit("/form")
    run = Frame.run

    async def late(self: Frame, expression: str, *given: Any, **more: Any) -> Any:
        if expression.startswith("webgym.text"):
            raise BrowserError("Runtime.evaluate: no answer in 4 s")
        return await run(self, expression, *given, **more)

    with monkeypatch.context() as slow:
        slow.setattr(Frame, "run", late)
        seen = await page.look(text=True)
    assert (seen.text, seen.truncated, seen.notes, seen.title) == ("", ("text",), (), "Form")
    assert "I agree" in ((await page.look(text=True)).text or "")


async def test_a_page_cannot_take_the_place_of_our_script_by_the_name_of_an_element(visit: Visit):
    """What has an id is a variable in every world of its document, ours too."""
    page = await visit("/names", marks=True, accessibility=True)
    assert sorted(mark.name for mark in page.first.marks or ()) == ["", "in a form", "marked", "title", "webgym"]
    assert "webgym" in (page.first.accessibility or "")
    assert page.first.truncated == ()


async def test_an_outline_that_a_stalled_machine_cut_short_is_asked_for_again(visit: Visit, house: House):
    page = await visit("/form", accessibility=True)
    await house.ask(
        page,
        """{ const now = performance.now.bind(performance);
          let stalls = 1;
          performance.now = () => now() + (stalls && new Error().stack.includes('walk') ? 1000 * stalls-- : 0);
          null }""",
        type(None),
    )
    seen = await page.look(accessibility=True)
    assert (seen.accessibility, seen.truncated) == (page.first.accessibility, ())
