"""The solver's processes: nobody notices that they die, and none is left behind."""
import signal, time

import chaos


def test_nobody_notices_that_solver_processes_are_killed(server, tmp_path):
    client = server(env={"XDG_CACHE_HOME": str(tmp_path)})
    result = chaos.run(client, tmp_path, 10, pause=0.3)
    assert result["wrong"] == [] and sum(result["killed"].values()) > 3
    code, _ = client.close()
    time.sleep(0.3)
    assert code == 0 and [pid for pid in result["seen"] if chaos.statistics(pid)] == []


def test_a_killed_server_takes_its_solver_processes_with_it(server, tmp_path):
    client = server(env={"XDG_CACHE_HOME": str(tmp_path)})
    uri = client.open(tmp_path / "down.c", chaos.PROGRAMS["down"].replace("SALT", "2"))
    client.settled(uri, 1)
    started = chaos.workers(client.process.pid)
    assert started
    client.process.send_signal(signal.SIGKILL)
    client.process.wait()
    time.sleep(0.5)
    assert [pid for pid in started if (known := chaos.statistics(pid)) and known[1] not in "ZX"] == []
