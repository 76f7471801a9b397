"""slow_pipe.py FROM TO SECONDS [BYTES]: passes bytes from one port to another, waits before each piece, and hangs up after so many bytes of answers."""

import socket
import sys
import threading
import time


def pass_on(source, target, seconds, most):
    left = most
    while piece := source.recv(4096):
        time.sleep(seconds)
        target.sendall(piece if left is None else piece[:left])
        left = left if left is None else left - len(piece)
        if left is not None and left <= 0:
            break
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    port, to, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    most = int(sys.argv[4]) if len(sys.argv) > 4 else None
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        here, _ = listener.accept()
        there = socket.create_connection(("127.0.0.1", to))
        for (source, target), bytes_ in [((here, there), None), ((there, here), most)]:
            threading.Thread(target=pass_on, args=(source, target, seconds, bytes_), daemon=True).start()


main()
