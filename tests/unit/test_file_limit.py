"""The file handles a worker asks for are enough for all the connections that its pages may have."""

from __future__ import annotations

import pytest

from webgym.errors import ConfigError
from webgym.server.egress import MAX_CONNECTIONS
from webgym.server.settings import ServeSettings, WorkerSettings
from webgym.server.worker import CONNECTIONS_PER_SESSION, FILES_PER_CONNECTION, files_and_connections


def settings(sessions: int) -> WorkerSettings:
    return WorkerSettings(serve=ServeSettings(sessions=sessions, browsers=1), sessions=sessions, browsers=1)


@pytest.mark.parametrize("sessions", [1, 16, 51, 52, 500])
@pytest.mark.parametrize("most_files", [None, 1_000_000])
def test_every_connection_that_pages_may_have_has_its_file_handles(sessions: int, most_files: int | None):
    files, connections = files_and_connections(settings(sessions), most_files)
    assert connections == max(MAX_CONNECTIONS, sessions * CONNECTIONS_PER_SESSION)
    assert files >= connections * FILES_PER_CONNECTION + ServeSettings().http.connections


def test_pages_may_have_fewer_connections_where_there_are_fewer_file_handles():
    files, connections = files_and_connections(settings(16), 4096)
    assert files <= 4096
    assert 16 * CONNECTIONS_PER_SESSION <= connections < MAX_CONNECTIONS
    assert connections * FILES_PER_CONNECTION + ServeSettings().http.connections < 4096


def test_too_few_file_handles_for_the_sessions_are_told():
    with pytest.raises(ConfigError, match="16 sessions need about 3592 file handles and the limit is 3000"):
        files_and_connections(settings(16), 3000)
