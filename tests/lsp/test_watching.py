"""Files of an open folder that change on the disk: a client that watches them tells the server; for others the server has them watched itself."""
import time

import pytest
from client import CAPABILITIES, Client

USER = '#include "size.h"\nint share(int all) { return all / SIZE; }\n'


def folder(path):
    return {"workspaceFolders": [{"uri": path.as_uri(), "name": path.name}]}


def has_failed(uri, wanted):
    def is_so(message):
        if message.get("method") != "textDocument/publishDiagnostics" or message["params"]["uri"] != uri:
            return False
        errors = [one["code"] for one in message["params"]["diagnostics"] if one["severity"] == 1]
        return ("division-by-zero" in errors) == wanted
    return is_so


@pytest.fixture
def client(tmp_path):
    (tmp_path / "size.h").write_text("#define SIZE 0\n")
    client = Client(params=folder(tmp_path))
    yield client
    client.close()
    assert client.malformed == []


def test_a_client_that_does_not_watch_files_hears_of_their_changes(client, tmp_path):
    uri = client.open(tmp_path / "user.c", USER)
    client.wait(has_failed(uri, True))
    before = len(client.messages)
    (tmp_path / "size.h").write_text("#define SIZE 4\n")
    client.wait(has_failed(uri, False), after=before)
    # As many editors write: a new file takes the place of the old one.
    before = len(client.messages)
    (tmp_path / "size.new").write_text("#define SIZE 0\n")
    (tmp_path / "size.new").rename(tmp_path / "size.h")
    client.wait(has_failed(uri, True), after=before)


def test_a_file_in_a_folder_that_is_new_is_found(client, tmp_path):
    def finds(name, wanted):
        end = time.monotonic() + 20
        while bool(client.ask("workspace/symbol", {"query": name})) != wanted:
            assert time.monotonic() < end, name
            time.sleep(.02)

    client.open(tmp_path / "user.c", USER)
    (tmp_path / "first.c").write_text("int first(void) { return 1; }\n")
    finds("first", True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/second.c").write_text("int second(void) { return 2; }\n")
    finds("second", True)
    (tmp_path / "outside/second.c").unlink()
    finds("second", False)


def test_a_client_that_watches_is_asked_to(tmp_path):
    watches = {**CAPABILITIES, "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
    client = Client(watches, params=folder(tmp_path))
    asked = client.wait(lambda m: m.get("method") == "client/registerCapability")
    assert [one["method"] for one in asked["params"]["registrations"]] == ["workspace/didChangeWatchedFiles"]
    client.close()
