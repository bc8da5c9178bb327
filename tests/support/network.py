"""Network helpers for the services of a suite."""
import socket


def free_port():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        return taken.getsockname()[1]
