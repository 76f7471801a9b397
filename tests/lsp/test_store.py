"""Two editors and a command line, each with a cache of its own and all with one store: what one has proved the others confirm."""
import os, shutil, socket, subprocess, time
from concurrent.futures import ThreadPoolExecutor

import pytest
from client import CAPABILITIES, PROOFLINE, Client

# A proof that many methods are asked for in vain before one finds it, and a failure.
PROGRAM = """#include <assert.h>
extern int in(void);
static int doubled(int n) {
    int x = 0, y = 0;
    while (x < n) { x++; y += 2; }
    return y;
}
static int sum(int n) {
    if (n <= 0) return 0;
    return 1 + sum(n - 1);
}
int main(void) {
    int n = in();
    if (n < 0 || n > 1000) return 0;
    assert(doubled(n) == 2 * n);
    assert(sum(n) == n);
    assert(n != 77 || in() == 5);
    return 0;
}
"""

# Nobody calls these here: each is judged on its own.
LIBRARY = """#include <assert.h>
#include <stddef.h>
struct ring { unsigned first, used, size; int *room; };
int halves(int n) {
    int a = 0, b = n;
    if (n < 0 || n > 100000) return 0;
    while (a < b) { a++; b--; }
    assert(a + b == n);
    return a;
}
unsigned gcd(unsigned a, unsigned b) {
    while (b != 0) { unsigned t = a % b; a = b; b = t; }
    return a;
}
int third(int x) {
    if (x < 10 || x > 20) return 0;
    return 100 / (x - 9);
}
int broken(int x) {
    int z = x - x;
    return 10 / z;
}
"""


@pytest.fixture
def team(tmp_path):
    return Team(tmp_path)


class Team:
    """Machines with one store."""

    def __init__(self, folder, store=None):
        self.folder, self.machines = folder, 0
        self.store = store or folder / "store"
        folder.mkdir(exist_ok=True)

    def environment(self):
        self.machines += 1
        return {"PROOFLINE_STORE": str(self.store), "PROOFLINE_CACHE": str(self.folder / f"cache{self.machines}")}

    def edit(self, name, text):
        """What an editor says of the functions of a file, and where the verdicts came from."""
        client = Client(CAPABILITIES, env=self.environment())
        said = self.show(client, name, text)
        client.close(30)
        return said

    def show(self, client, name, text):
        """The same, in an editor that stays open."""
        uri = client.open(self.folder / name, text)
        functions = client.settled(uri, 1, 100)
        counts = client.ask("workspace/executeCommand", {"command": "proofline.statistics", "arguments": []})
        return {name: (f["state"], f["proved"], f["violated"]) for name, f in functions.items()}, counts

    def check(self, name, text):
        """What the command line says, and where the verdicts came from."""
        environment = {**os.environ, **self.environment()}
        path = self.folder / name
        path.write_text(text)
        said = subprocess.run([PROOFLINE, "check", path, "--statistics", "--cache", environment["PROOFLINE_CACHE"]], env=environment, capture_output=True, text=True, timeout=100)
        numbers = {}
        for start, names in [("entries verified", ["verified", "recalled"]), ("entries that the team's store knew", ["confirmed", "refused"])]:
            for line in filter(lambda line: line.startswith(start), said.stdout.splitlines()):
                numbers |= zip(names, [int(word.strip(",")) for word in line.split() if word.strip(",").isdigit()])
        result = next(line for line in said.stdout.splitlines() if line.startswith("RESULT"))
        return (said.returncode, result), numbers


class Machine(Team):
    """One machine without a store."""

    def environment(self):
        return {"PROOFLINE_STORE": "", "PROOFLINE_CACHE": str(self.folder / "cache")}


@pytest.fixture
def store(tmp_path):
    """A Redis server, where there is one; a folder elsewhere."""
    if not shutil.which("redis-server"):
        yield tmp_path / "store"
        return
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", str(tmp_path)], stdout=subprocess.DEVNULL)
    while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
        assert server.poll() is None, "the server does not start"
        time.sleep(0.05)
    yield f"redis://127.0.0.1:{port}"
    server.kill()
    server.wait()


BOTH = pytest.mark.parametrize("name, text", [("program.c", PROGRAM), ("library.c", LIBRARY)])


@BOTH
def test_a_proof_of_one_editor_is_confirmed_in_another(team, name, text):
    first, alone = team.edit(name, text)
    assert alone["confirmed"] == 0 and alone["verified"] > 0, alone
    second, helped = team.edit(name, text)
    assert second == first
    assert helped["confirmed"] > 0 and helped["refused"] == 0, helped


@BOTH
def test_an_editor_confirms_what_the_command_line_proved(team, name, text):
    _, counts = team.check(name, text)
    assert (counts["confirmed"], counts["refused"]) == (0, 0)
    helped, counts = team.edit(name, text)
    assert counts["confirmed"] > 0 and counts["refused"] == 0, counts
    # Nobody has proved this one before.
    alone, _ = Team(team.folder / "alone").edit(name, text)
    assert helped == alone


@BOTH
def test_the_command_line_confirms_what_an_editor_proved(team, name, text):
    team.edit(name, text)
    helped, counts = team.check(name, text)
    assert counts["confirmed"] > 0 and counts["refused"] == 0, counts
    alone, _ = Team(team.folder / "alone").check(name, text)
    assert helped == alone


@BOTH
def test_on_one_machine_an_editor_and_the_command_line_recall_each_other_s_proofs(tmp_path, name, text):
    first = Machine(tmp_path / "editor first")
    first.edit(name, text)
    said, counts = first.check(name, text)
    assert counts["recalled"] > counts["verified"], counts
    second = Machine(tmp_path / "command line first")
    alone, _ = second.check(name, text)
    assert said == alone
    _, counts = second.edit(name, text)
    assert counts["verified"] == 0 and counts["recalled"] > 0, counts


def test_two_editors_and_a_command_line_at_the_same_time(tmp_path, store):
    """Each of three has a file of its own at first; then the editors show each other's, and the command line checks both."""
    team = Team(tmp_path / "team", store)
    third = PROGRAM.replace("1000", "900").replace("77", "78")
    files = {"program.c": PROGRAM, "library.c": LIBRARY}
    editors = [Client(CAPABILITIES, env=team.environment()) for _ in files]
    with ThreadPoolExecutor() as at_once:
        own = [at_once.submit(team.show, editor, *file) for editor, file in zip(editors, files.items())]
        line = at_once.submit(team.check, "third.c", third)
        first = [work.result() for work in own]
        _, counts = line.result()
        assert all(counts["confirmed"] == 0 and counts["verified"] > 0 for counts in [counts, *(of for _, of in first)])
        # Editors write what is new when they have nothing else to do.
        time.sleep(3)
        others = [at_once.submit(team.show, editor, *file) for editor, file in zip(editors, reversed(files.items()))]
        lines = [at_once.submit(team.check, *file) for file in files.items()]
        second = [work.result() for work in others]
        lines = [work.result() for work in lines]
    assert [functions for functions, _ in second] == [functions for functions, _ in reversed(first)]
    for (_, before), (_, after) in zip(first, second):
        assert after["confirmed"] > 0 and after["refused"] == 0, (before, after)
    assert all(counts["confirmed"] > 0 and counts["refused"] == 0 for _, counts in lines), lines
    # What an editor has found out itself it recalls.
    again, counts = team.show(editors[1], "again.c", LIBRARY)
    assert again == first[1][0] and counts["recalled"] > second[1][1]["recalled"], counts
    for editor in editors:
        editor.close(30)
