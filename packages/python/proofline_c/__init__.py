"""Proofline verifies C. The program is no Python: this package brings it along and says where it is."""

import os
import sys
import sysconfig


def program() -> str:
    """The path of the program `proofline` that belongs to this package."""
    name = "proofline" + (sysconfig.get_config_var("EXE") or "")
    places = [sysconfig.get_path("scripts"), os.path.join(sys.prefix, "bin")]
    if hasattr(sysconfig, "get_preferred_scheme"):
        places.append(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    # `pip install --target FOLDER` puts programs beside modules.
    places.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))
    for place in places:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"`{name}` is in none of: {', '.join(places)}")


def main() -> None:
    """Becomes the program, with this process's arguments."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
