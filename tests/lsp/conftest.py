import pathlib
import pytest
from client import Client

AVERAGE = (pathlib.Path(__file__).parents[2] / "examples/average.c").read_text()


@pytest.fixture
def server():
    """A server that must end by itself, and well, whatever the test did to it."""
    made = []

    def make(**arguments):
        made.append(Client(**arguments))
        return made[-1]

    yield make
    for client in made:
        if client.process.poll() is None:
            code, took = client.close()
            assert code == 0 and took < 1


@pytest.fixture
def average():
    return AVERAGE
