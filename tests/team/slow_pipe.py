"""slow_pipe.py FROM TO SECONDS: passes bytes from one port to another, and waits before each piece."""

import socket
import sys
import threading
import time


def pass_on(source, target, seconds):
    while piece := source.recv(4096):
        time.sleep(seconds)
        target.sendall(piece)
    target.close()


def main():
    port, to, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        here, _ = listener.accept()
        there = socket.create_connection(("127.0.0.1", to))
        for ends in [(here, there), (there, here)]:
            threading.Thread(target=pass_on, args=(*ends, seconds), daemon=True).start()


main()
