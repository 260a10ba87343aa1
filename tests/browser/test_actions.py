"""Every action of the protocol, in a real browser: what the page makes of it stands in its title, text or address."""

import json
from typing import Any

import pytest

from tests.browser.conftest import House, Visit, mark_called
from tests.conftest import Driver
from webgym import types as t
from webgym.server.actions import full_url
from webgym.server.frame import Frame, ScriptFailed

pytestmark = pytest.mark.asyncio(loop_scope="session")


# the mouse


async def lines(house: House, driver: Driver) -> list[str]:
    return await house.ask(driver, "document.getElementById('log').textContent.trim().split('\\n')", list[str])


@pytest.mark.parametrize(
    ("button", "number", "last"), [("left", 0, "click"), ("middle", 1, "auxclick"), ("right", 2, "contextmenu")]
)
async def test_each_button_clicks_where_it_is_told(visit: Visit, house: House, button, number, last):
    mouse = await visit("/mouse")
    await mouse.step(t.Click(x=300.5, y=200, button=button))
    told = await lines(house, mouse)
    assert f"mousedown {number} 1 300,200" in told
    assert any(line.startswith(f"{last} {number}") and "300,200" in line for line in told)


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_a_click_counts_as_often_as_asked(visit: Visit, house: House, count):
    mouse = await visit("/mouse")
    await mouse.step(t.Click(x=50, y=60, count=count))
    told = await lines(house, mouse)
    assert [line for line in told if line.startswith("click")] == [f"click 0 {n} 50,60" for n in range(1, count + 1)]
    assert sum(line.startswith("dblclick") for line in told) == (count >= 2)


async def test_modifiers_are_held_during_a_click(visit: Visit, house: House):
    mouse = await visit("/mouse")
    await house.ask(
        mouse,
        "addEventListener('click', e => document.title = [e.ctrlKey, e.shiftKey, e.altKey, e.metaKey].join()); null",
        type(None),
    )
    assert (await mouse.step(t.Click(x=9, y=9, modifiers=("Control", "Shift")))).title == "true,true,false,false"
    assert (await mouse.step(t.Click(x=9, y=9, modifiers=("Alt", "Meta", "Meta")))).title == "false,false,true,true"
    assert (await mouse.step(t.Click(x=9, y=9))).title == "false,false,false,false"


async def test_hovering_opens_a_menu_that_can_then_be_clicked(visit: Visit):
    menu = await visit("/hover", accessibility=True)
    assert "Second" not in (menu.first.accessibility or "")
    seen = await menu.step(t.Hover(x=100, y=40), accessibility=True)
    assert 'link "Second"' in (seen.accessibility or "")
    assert (await menu.step(t.Click(x=100, y=120))).title == "chosen second"


async def test_a_drag_moves_what_follows_the_mouse(visit: Visit):
    drag = await visit("/drag")
    seen = await drag.step(t.Drag(x=80, y=160, to_x=480, to_y=560))
    assert seen.title == "box 440,520"


async def test_a_drag_drops_by_html_drag_and_drop(visit: Visit):
    drag = await visit("/drag")
    assert (await drag.step(t.Drag(x=100, y=350, to_x=440, to_y=360))).title == "received the parcel"
    # The mouse is free again afterwards.
    assert (await drag.step(t.Drag(x=80, y=160, to_x=280, to_y=160))).title == "box 240,120"


# the keyboard


async def test_text_replaces_or_extends_what_a_field_holds(visit: Visit, house: House):
    form = await visit("/form")
    value = "document.getElementById('prefilled').value"
    await form.step(t.Type(x=280, y=40, text="new", clear=True))
    assert await house.ask(form, value, str) == "new"
    await form.step(t.Type(text=" and more"))
    assert await house.ask(form, value, str) == "new and more"


async def test_typing_presses_keys_and_enter_sends_the_form(visit: Visit):
    form = await visit("/form")
    await form.step(t.Type(x=100, y=40, text="Ada Lovelace"))
    seen = await form.look(text=True)
    assert "Key presses: 12" in (seen.text or "")
    seen = await form.step(t.Type(text="!", enter=True), text=True)
    assert "name = Ada Lovelace!" in (seen.text or "")


@pytest.mark.parametrize(
    "text",
    [
        "ASCII: ~!@#$%^&*()_+{}|:\"<>?`-=[]\\;',./ 0123456789",
        "Grüße, naïve façade, Ελληνικά, 日本語, 🙂👩‍👩‍👧",
        "first line\nsecond line\n\nfourth",
        "tabs\tstay\twhere they are",
        "x" * 299 + "é",
        "0123456789" * 300 + "\nend",
    ],
    ids=["ascii", "unicode", "newlines", "tabs", "just short of long", "long"],
)
async def test_any_text_arrives_as_it_is(visit: Visit, house: House, text):
    form = await visit("/form")
    await house.ask(form, "document.getElementById('notes').focus(); null", type(None))
    seen = await form.step(t.Type(text=text))
    assert seen.action_error is None
    assert await house.ask(form, "document.getElementById('notes').value", str) == text


async def test_windows_line_ends_are_one_line_end(visit: Visit, house: House):
    form = await visit("/form")
    await house.ask(form, "document.getElementById('notes').focus(); null", type(None))
    await form.step(t.Type(text="a\r\nb\rc"))
    assert await house.ask(form, "document.getElementById('notes').value", str) == "a\nb\nc"


async def test_a_key_is_known_by_its_many_names(visit: Visit):
    page = await visit("/keys")
    for keys, heard in (
        ("Enter", "Enter"),
        ("return", "Enter"),
        ("ESC", "Escape"),
        ("pgdn", "PageDown"),
        ("down", "ArrowDown"),
        ("F5", "F5"),
        ("space", "Space"),
        ("ctrl+shift+t", "Control+Shift+T"),
        ("Shift+a", "Shift+A"),
        ("Alt+ArrowLeft", "Alt+ArrowLeft"),
        ("cmd+k", "Meta+k"),
        ("ctrl++", "Control++"),
        ("?", "Shift+?"),
    ):
        assert (await page.step(t.Key(keys=(keys,)), image="none")).title == heard


async def test_key_combinations_edit_as_they_do_for_a_person(visit: Visit, house: House):
    page = await visit("/keys")
    value = "document.getElementById('typed').value"
    await page.step(t.Type(text="one two"))
    await page.step(t.Key(keys=("Home", "x", "End", "Shift+ArrowLeft", "Delete")))
    assert await house.ask(page, value, str) == "xone tw"
    await page.step(t.Key(keys=("ctrl+a", "ctrl+c", "End", "ctrl+v")))
    assert await house.ask(page, value, str) == "xone twxone tw"
    await page.step(t.Key(keys=("ctrl+z",)))
    assert await house.ask(page, value, str) == "xone tw"
    await page.step(t.Key(keys=("Control+A", "Backspace")))
    assert await house.ask(page, value, str) == ""


async def test_tab_walks_through_the_fields(visit: Visit, house: House):
    form = await visit("/form")
    await form.step(t.Key(keys=("Tab", "Tab")))
    assert await house.ask(form, "document.activeElement.id", str) == "prefilled"
    await form.step(t.Key(keys=("Shift+Tab",)))
    assert await house.ask(form, "document.activeElement.id", str) == "name"


async def test_what_a_session_copies_it_can_paste(visit: Visit):
    page = await visit("/clipboard")
    await page.step(t.Type(text="one", x=10, y=10))
    await page.step(t.Key(keys=("Control+a", "Control+c")))
    for keys, typed in (
        (("End", "Control+v"), "oneone"),
        (("Shift+Insert",), "oneoneone"),
        (("Control+a", "Control+x", "Control+V"), "oneoneone"),  # copied and pasted in one action
        (("Control+Shift+v",), "oneoneoneoneoneone"),
    ):
        assert (await page.step(t.Key(keys=keys))).title == f"typed [{typed}]", keys
    other = await page.step(t.NewTab(url=page.first.url))
    await page.step(t.Click(x=10, y=10))
    assert (await page.step(t.Key(keys=("Control+v",)))).title == "typed [oneoneone]", "in another tab"
    assert len(other.tabs) == 2


async def pasted_into(page: Driver, house: House, hang: str) -> str:
    """The title of a page that would tell of a paste it heard, after one into the frame of another site that hangs there."""
    inner = json.dumps(house.site.url("/clipboard", host="other.localhost"))
    place = "const place = 'position: fixed; left: 600px; top: 0; width: 400px; height: 300px'"
    heard = "addEventListener('paste', () => { document.title = 'heard'; })"
    await house.ask(page, f"{{ const inner = {inner}; {place}; {hang}; {heard}; }} null", type(None))
    await page.step(t.Type(text="one", x=10, y=10))
    await page.step(t.Key(keys=("Control+a", "Control+c")))
    await page.step(t.Click(x=620, y=20))
    return (await page.step(t.Key(keys=("Control+v",)))).title


async def test_what_is_pasted_into_a_frame_of_another_site_is_not_told_to_the_page(visit: Visit, house: House):
    page = await visit("/clipboard")
    hang = "Object.assign(document.body.appendChild(document.createElement('iframe')), {src: inner, style: place})"
    assert await pasted_into(page, house, hang) == "typed [one]"
    shown = house.context(page).active
    other = Frame(shown.channel, await shown.frame.frame_in("document.querySelector('iframe')", within=5))
    assert await other.run("document.querySelector('#typed').value", str, within=5) == "one"


@pytest.mark.parametrize(
    "hang",
    [
        "Object.assign(document.body.appendChild(document.createElement('object')), {data: inner, style: place})",
        "Object.assign(document.body.appendChild(document.createElement('embed')), {src: inner, style: place})",
        "document.body.appendChild(document.createElement('div')).attachShadow({mode: 'closed', delegatesFocus: true})"
        ".append(Object.assign(document.createElement('iframe'), {src: inner, style: place}))",
    ],
    ids=["object", "embed", "closed shadow"],
)
async def test_nor_is_it_if_the_frame_hangs_in_something_else(visit: Visit, house: House, hang: str):
    page = await visit("/clipboard")
    assert await pasted_into(page, house, hang) == "typed [one]"
    assert await house.ask(page, "document.activeElement.tagName", str) in ("OBJECT", "EMBED", "DIV")


async def test_pages_copy_and_paste_in_their_own_way(visit: Visit):
    page = await visit("/clipboard")
    await page.step(t.Click(x=10, y=210))
    await page.step(t.Click(x=10, y=10))
    assert (await page.step(t.Key(keys=("Control+v",)))).title == "typed [CODE-7]"
    await page.step(t.Click(x=10, y=410))
    assert (await page.step(t.Key(keys=("Control+v",)))).title == "pasted [CODE-7]"


async def test_an_unknown_key_is_told_and_presses_nothing(visit: Visit):
    page = await visit("/keys")
    seen = await page.step(t.Key(keys=("a", "Hyper+x")))
    assert seen.action_error == "no key is called 'Hyper'"
    assert seen.title == "Keys"


# scrolling


async def test_the_page_scrolls_both_ways_and_back(visit: Visit):
    page = await visit("/scroll")
    seen = await page.step(t.Scroll(dy=900))
    assert (seen.scroll.x, seen.scroll.y) == (0, 900)
    seen = await page.step(t.Scroll(dx=700, dy=-400))
    assert (seen.scroll.x, seen.scroll.y) == (700, 500)
    seen = await page.step(t.Scroll(dy=100_000))
    assert seen.scroll.y == seen.scroll.height - 753 or seen.scroll.y == seen.scroll.height - 768
    assert (seen.scroll.width, seen.scroll.height) == (3840, 3840)


async def test_a_box_scrolls_under_the_pointer_and_the_page_elsewhere(visit: Visit):
    page = await visit("/scroll")
    seen = await page.step(t.Scroll(x=200, y=300, dy=250))
    assert seen.title == "scroll 0,0 box 250"
    seen = await page.step(t.Scroll(x=900, y=600, dy=250))
    assert seen.title == "scroll 0,250 box 250"


@pytest.mark.parametrize("background", ["white", "none", "linear-gradient(red, blue) fixed"])
async def test_the_bar_of_a_box_can_be_clicked_and_dragged(visit: Visit, house: House, background: str):
    """A box without an opaque background has no layer of its own, unless it is forced to: scrolled by its bar it once began
    a frame that never ended."""
    page = await visit("/scroll", image="png")
    script = f"""(box => {{ box.style.background = "{background}"; return box.getBoundingClientRect().toJSON() }})(
        document.getElementById("box"))"""
    box = await house.ask(page, script, dict[str, float])
    await page.look(image="png")
    bar, upper, lower = box["right"] - 8, box["top"] + 22, box["bottom"] - 22
    for y, at_top in ((lower, False), (lower, False), (upper, False), (upper, True)):
        seen = await page.step(t.Click(x=bar, y=y), image="png")
        assert seen.settled.ms < 1500
        assert (seen.title == "scroll 0,0 box 0") == at_top
        await page.step(t.Click(x=900, y=600), image="png")
    dragged = await page.step(t.Drag(x=bar, y=upper, to_x=bar, to_y=lower), image="png")
    assert dragged.title != seen.title


async def test_a_list_scrolls_by_its_element(visit: Visit):
    docs = await visit("/docs-long", marks=True)
    link = next(mark for mark in docs.first.marks or () if mark.role == "link")
    seen = await docs.step(t.Scroll(element=link.id, dy=400), marks=True)
    assert seen.scroll.y == 0, "the page itself stays"
    assert link.name not in [mark.name for mark in seen.marks or ()]


# lists


@pytest.mark.parametrize(("option", "chosen"), [("banana", "banana / "), (" cherry ", "cherry / ")])
async def test_an_option_is_selected_by_its_label(visit: Visit, option, chosen):
    page = await visit("/select")
    assert (await page.step(t.Select(x=100, y=40, options=(option,)))).title == chosen.strip()


async def test_an_option_is_selected_by_its_value(visit: Visit, house: House):
    page = await visit("/select")
    await house.ask(page, "Object.assign(document.querySelector('#single').options[3], {value: 'd4'}); null", type(None))
    assert (await page.step(t.Select(x=100, y=40, options=("d4",)))).title == "d4 /"


async def test_a_list_that_the_page_has_replaced_is_told_to_be_gone(visit: Visit, house: House):
    page = await visit("/select", marks=True)
    single = next(mark for mark in page.first.marks or () if mark.role == "combobox")
    again = "document.querySelector('#single').replaceWith(document.querySelector('#single').cloneNode(true)); null"
    await house.ask(page, again, type(None))
    seen = await page.step(t.Select(element=single.id, options=("apple",)))
    assert seen.action_error == "this element is gone: look again with marks"


async def test_an_action_that_our_script_fails_at_is_told_and_not_taken_for_done(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
):
    page, run = await visit("/select"), Frame.run

    async def run_but_select(self: Frame, expression: str, *given: Any, **more: Any) -> Any:
        if "webgym.select" in expression:
            raise ScriptFailed("there is something that nobody thought of")
        return await run(self, expression, *given, **more)

    monkeypatch.setattr(Frame, "run", run_but_select)
    seen = await page.step(t.Select(x=100, y=40, options=("apple",)))
    assert seen.action_error == "the page did not let it be done: look again"


async def test_several_options_are_selected_at_once_and_replaced(visit: Visit):
    page = await visit("/select", marks=True)
    several = next(mark for mark in page.first.marks or () if mark.role in ("listbox", "combobox") and mark.box.y > 60)
    seen = await page.step(t.Select(element=several.id, options=("green", "violet")), marks=True)
    assert seen.title == "apple / green,violet"
    seen = await page.step(t.Select(element=several.id, options=()))
    assert seen.title == "apple /"


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        (
            t.Select(x=100, y=40, options=("grape",)),
            'there is no option "grape"; the options are: apple | banana | cherry | date',
        ),
        (t.Select(x=100, y=40, options=("apple", "date")), "this list takes one option only"),
        (t.Select(x=900, y=600, options=("apple",)), "there is no <select> at that place"),
        (t.Select(x=5000, y=40, options=("apple",)), "(5000, 40) is outside the 1280 × 768 screen"),
        (t.Select(element=77, options=("apple",)), "there is no element 77 on the page: look again with marks"),
    ],
)
async def test_a_wrong_selection_is_told_and_changes_nothing(visit: Visit, action, problem):
    page = await visit("/select")
    seen = await page.step(action)
    assert seen.action_error == problem
    assert seen.title == "Select"


async def test_an_open_list_shows_no_popup_that_would_hide_the_page(visit: Visit):
    page = await visit("/select")
    seen = await page.step(t.Click(x=100, y=40))
    seen = await page.step(t.Key(keys=("ArrowDown", "Enter")))
    assert seen.title == "banana /"


async def test_an_open_list_is_on_the_screenshot_and_takes_a_click(visit: Visit):
    page = await visit("/select", image="png")
    closed = page.first
    seen = await page.step(t.Click(x=100, y=40), marks=True, image="png")
    assert not seen.unchanged
    options = {mark.name: mark for mark in seen.marks or () if mark.role == "option"}
    assert {"apple", "banana", "cherry", "date"} <= set(options)
    box = options["cherry"].box
    seen = await page.step(t.Click(x=box.x + box.width / 2, y=box.y + box.height / 2), image="png")
    assert seen.title == "cherry /"
    assert seen.screenshot is not None
    assert closed.screenshot is not None
    seen = await page.step(t.Select(x=100, y=40, options=("apple",)), image="png")
    assert seen.title == "apple /"


async def test_an_open_list_closes_by_escape_or_a_click_elsewhere(visit: Visit):
    page = await visit("/select")
    before = await page.step(t.Key(keys=("Tab",)))
    opened = await page.step(t.Click(x=100, y=40))
    assert not opened.unchanged
    seen = await page.step(t.Key(keys=("Escape",)))
    assert seen.title == before.title
    await page.step(t.Click(x=100, y=40))
    seen = await page.step(t.Click(x=600, y=500), marks=True)
    assert not [mark for mark in seen.marks or () if mark.name == "cherry" and mark.role == "option"]


async def test_keys_move_through_an_open_list(visit: Visit):
    page = await visit("/select")
    await page.step(t.Click(x=100, y=40))
    seen = await page.step(t.Key(keys=("End", "ArrowUp", "Enter")))
    assert seen.title == "cherry /"
    await page.step(t.Key(keys=("Space",)))
    seen = await page.step(t.Key(keys=("d", "Enter")))
    assert seen.title == "date /"


# navigation


async def test_history_goes_back_and_forward(visit: Visit, house: House):
    page = await visit("/history/a")
    await page.step(t.Click(x=100, y=40))
    seen = await page.step(t.Click(x=100, y=40))
    assert seen.title == "History c"
    assert (await page.step(t.Back())).title == "History b"
    seen = await page.step(t.Back())
    assert (seen.title, seen.url) == ("History a", house.site.url("/history/a"))
    seen = await page.step(t.Forward())
    assert (seen.title, seen.status) == ("History b", 200)


async def test_where_there_is_no_history_nothing_happens(visit: Visit):
    page = await visit("/history/a")
    seen = await page.step(t.Forward())
    assert seen.action_error == "there is no page to go forward to"
    await page.step(t.Back())
    seen = await page.step(t.Back())
    assert seen.action_error == "there is no page to go back to"


async def test_reloading_asks_the_site_again(visit: Visit, house: House):
    page = await visit("/counter")
    await page.step(t.Click(x=100, y=40))
    hits = house.site.hits["/counter"]
    seen = await page.step(t.Reload())
    assert (seen.title, house.site.hits["/counter"]) == ("count 0", hits + 1)


async def test_navigation_to_a_fragment_keeps_the_page(visit: Visit, house: House):
    page = await visit("/docs-long")
    seen = await page.step(t.Navigate(url=house.site.url("/docs-long#s40")))
    assert seen.url.endswith("#s40")
    assert seen.scroll.y > 1000
    assert seen.status == 200


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://a b/", "not a host name"),
        ("http://site.localhost:99999/", "not a port"),
        ("file:///etc/passwd", "file: is not allowed"),
        ("javascript:alert(1)", "javascript: is not allowed"),
        ("http://10.0.0.1/", "blocked by the egress policy"),
    ],
)
async def test_an_address_that_may_not_be_visited_is_told(visit: Visit, url, problem):
    page = await visit("/counter")
    seen = await page.step(t.Navigate(url=url))
    assert problem in (seen.action_error or "")
    assert seen.title == "count 0"
    seen = await page.step(t.NewTab(url=url))
    assert problem in (seen.action_error or "")
    assert len(seen.tabs) == 1


async def test_waiting_takes_as_long_as_asked(visit: Visit):
    page = await visit("/live/poll")
    before = await page.look(text=True)
    after = await page.step(t.Wait(seconds=1.2), text=True)
    assert after.text != before.text


@pytest.mark.parametrize("action", [t.Answer(text="42"), t.Terminate(status="failure")], ids=["answer", "terminate"])
async def test_ending_actions_do_nothing_in_the_browser(visit: Visit, action):
    page = await visit("/counter")
    seen = await page.step(action)
    assert seen.action_error is None
    assert seen.unchanged
    assert seen.title == "count 0"


# files


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("example.com/login?next=https://example.com/", "https://example.com/login?next=https://example.com/"),
        ("localhost:8080/?to=http://example.com", "https://localhost:8080/?to=http://example.com"),
        (" http://example.com ", "http://example.com"),
        ("about:blank", "about:blank"),
    ],
)
async def test_an_address_may_be_written_without_its_scheme(written, meant):
    assert full_url(written) == meant


async def test_a_file_is_uploaded_at_a_place(visit: Visit, house: House):
    page = await visit("/file-chooser")
    house.worker.sessions.put_file(page.started.id, page.started.lease.token, "note.txt", b"what it says")
    seen = await page.step(t.Upload(x=100, y=40, files=("note.txt",)), text=True)
    assert seen.title == "Chosen note.txt"
    assert "what it says" in (seen.text or "")
    assert seen.notes == ()


async def test_a_file_is_uploaded_by_the_button_that_opens_the_chooser(visit: Visit, house: House):
    page = await visit("/file-chooser", marks=True)
    house.worker.sessions.put_file(page.started.id, page.started.lease.token, "note.txt", b"what it says")
    button = mark_called(page.first, "Choose a file")
    seen = await page.step(t.Upload(element=button.id, files=("note.txt",)))
    assert seen.title == "Chosen note.txt"


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        (t.Upload(x=100, y=40, files=("absent.txt",)), "there is no file 'absent.txt' in the session's folder"),
        (t.Upload(x=100, y=40, files=("..",)), "there is no file '..' in the session's folder"),
        (t.Upload(x=100, y=40, files=("é" * 150,)), f"there is no file '{'é' * 150}' in the session's folder"),
        (t.Upload(x=900, y=600, files=("note.txt",)), "nothing at that place asks for a file"),
    ],
)
async def test_an_impossible_upload_is_told(visit: Visit, house: House, action, problem):
    page = await visit("/file-chooser")
    house.worker.sessions.put_file(page.started.id, page.started.lease.token, "note.txt", b"what it says")
    seen = await page.step(action)
    assert seen.action_error == problem
    assert seen.title == "File chooser"


# aiming


@pytest.mark.parametrize(
    "action",
    [
        t.Click(x=1280, y=10),
        t.Hover(x=10, y=768),
        t.Drag(x=10, y=10, to_x=4000, to_y=10),
        t.Type(x=5000, y=10, text="x"),
        t.Scroll(x=5000, y=10, dy=10),
        t.Upload(x=5000, y=10, files=("note.txt",)),
    ],
    ids=lambda action: action.kind,
)
async def test_a_place_off_the_screen_is_told(visit: Visit, house: House, action):
    page = await visit("/mouse")
    house.worker.sessions.put_file(page.started.id, page.started.lease.token, "note.txt", b"")
    seen = await page.step(action)
    assert "is outside the 1280 × 768 screen" in (seen.action_error or "")
    assert await lines(house, page) == [""]


@pytest.mark.parametrize("element", [1, 99_999])
async def test_an_element_that_was_never_marked_is_told(visit: Visit, element):
    page = await visit("/counter")
    seen = await page.step(t.Click(element=element))
    assert seen.action_error == f"there is no element {element} on the page: look again with marks"


async def test_marks_of_another_page_or_tab_are_not_aimed_at(visit: Visit, house: House):
    page = await visit("/counter", marks=True)
    button = mark_called(page.first, "Count")
    await page.step(t.NewTab(url=house.site.url("/form")))
    seen = await page.step(t.Click(element=button.id))
    assert "there is no element" in (seen.action_error or "")
    await page.step(t.SwitchTab(tab=1))
    assert (await page.step(t.Click(element=button.id))).title == "count 1"
    seen = await page.step(t.Reload())
    seen = await page.step(t.Click(element=button.id))
    assert "there is no element" in (seen.action_error or "")
    assert seen.title == "count 0"


async def test_elements_are_clicked_typed_into_and_selected_by_their_marks(visit: Visit, house: House):
    form = await visit("/form", marks=True)
    await form.step(t.Type(element=mark_called(form.first, "Name").id, text="Grace"))
    await form.step(t.Click(element=mark_called(form.first, "I agree").id))
    await form.step(t.Select(element=mark_called(form.first, "Size").id, options=("large",)))
    await form.step(t.Type(element=mark_called(form.first, "Notes").id, text="by mark"))
    seen = await form.step(t.Click(element=mark_called(form.first, "Send").id), text=True)
    for line in ("name = Grace", "agree = yes", "size = large", "notes = by mark"):
        assert line in (seen.text or "")


async def test_an_element_that_scrolled_away_is_brought_back_and_clicked(visit: Visit):
    page = await visit("/marks", marks=True)
    link = mark_called(page.first, "A link")
    await page.step(t.Scroll(dy=1200))
    assert (await page.step(t.Click(element=link.id))).title == "count 0"


@pytest.mark.parametrize("left", [True, False], ids=["the same site", "another site"])
async def test_an_element_in_a_frame_is_clicked(visit: Visit, house: House, left):
    page = await visit("/marks", marks=True)
    buttons = sorted((mark for mark in page.first.marks or () if mark.name == "In a frame"), key=lambda mark: mark.box.x)
    assert len(buttons) == 2
    clicks = house.site.count("frame-click")
    await page.step(t.Scroll(dy=100))
    seen = await page.step(t.Click(element=buttons[0 if left else 1].id))
    assert seen.action_error is None
    await house.site.reported("frame-click", clicks + 1)


async def test_an_element_in_a_shadow_root_is_clicked(visit: Visit, house: House):
    page = await visit("/marks", marks=True)
    await house.ask(
        page,
        "document.querySelector('#host').shadowRoot.querySelector('button').onclick = () => document.title = 'shadow'; null",
        type(None),
    )
    assert (await page.step(t.Click(element=mark_called(page.first, "In a shadow root").id))).title == "shadow"
