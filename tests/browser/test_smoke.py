from tests.conftest import KEY, FleetMaker, Opener
from webgym import types as t


async def test_a_click_and_a_text_reach_the_page(open_page: Opener):
    form = await open_page("/form")
    await form.step(t.Click(x=100, y=40))
    seen = await form.step(t.Type(text="Ada", enter=True))
    assert "name=Ada" in seen.url
    assert seen.status == 200


async def test_a_fleet_of_processes_serves_a_session(new_fleet: FleetMaker):
    async with new_fleet(sessions=2) as fleet:
        assert fleet.url.startswith("http://127.0.0.1:")
        assert KEY
