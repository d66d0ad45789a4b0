"""Whose is a listening socket, and can there be one? The first is read from /proc.

Enters a URL and the pid of a supervisor, or a host and port; leaves whether a process below it listens there, or why
nobody could. Knows nothing of HTTP.
"""

import errno
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

from paretoken.engines.supervisor_child import descendants


def listens(url: str, root_pid: int) -> bool | None:
    """Does a process below `root_pid` listen at the URL? None: nobody does yet. Without /proc always True: there the
    address was reported over the engine's own pipe, and that has to do."""
    if not Path("/proc/net/tcp").exists():
        return True
    parts = urlsplit(url)
    wanted = _listeners(parts.hostname or "", parts.port or 0)
    if not wanted:
        return None
    for pid in descendants(root_pid):
        for entry in _entries(Path(f"/proc/{pid}/fd")):
            if _link(entry) in wanted:
                return True
    return False


def why_not_bindable(host: str, port: int) -> str | None:
    """A clause on why nothing can be made to listen there; None when it can. Tried without SO_REUSEPORT: an engine that
    sets it would share the port of another server, and the kernel would deal the connections out to both."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return f"port {port} of {host} is taken by another program"
        if error.errno == errno.EACCES:
            return f"port {port} of {host} needs more rights"
        return f"{host} is not an address of this machine ({error.strerror})"
    return None


def _listeners(host: str, port: int) -> set[str]:
    """Names, as in /proc/PID/fd, of the sockets that would get a connection to host:port: those bound to just this
    address, else those bound to all."""
    exact: set[str] = set()
    general: set[str] = set()
    address = _kernel_hex(host)
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in _rows(Path(table)):
            local, state, inode = row[1], row[3], row[9]
            bound, _, bound_port = local.partition(":")
            if state == "0A" and int(bound_port, 16) == port:  # 0A = LISTEN
                if bound == address:
                    exact.add(f"socket:[{inode}]")
                elif set(bound) == {"0"}:
                    general.add(f"socket:[{inode}]")
    return exact or general


def _kernel_hex(host: str) -> str:
    """An IP address as /proc/net writes it: 32-bit words in the machine's byte order."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, "127.0.0.1" if host == "localhost" else host)
    words = (int.from_bytes(packed[i : i + 4], sys.byteorder) for i in range(0, len(packed), 4))
    return "".join(f"{word:08X}" for word in words)


def _rows(table: Path) -> list[list[str]]:
    try:
        return [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:  # no IPv6 here
        return []


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # it ended, or is not ours to look into
        return []


def _link(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""
