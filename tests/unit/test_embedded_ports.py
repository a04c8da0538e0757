"""Ports for servers that must know their own before they start."""

from __future__ import annotations

import socket
import threading

import pytest

from pysync.base.errors import PysyncError
from pysync.lab import ports


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_free_port_is_of_the_range_and_can_be_listened_on():
    port = ports.free_port()
    assert port in ports.PORTS
    with socket.create_server(("127.0.0.1", port)):
        assert not ports.is_free(port)


def test_none_is_handed_out_twice_though_nobody_listens_on_it_yet():
    found = [ports.free_port() for _ in range(200)]
    assert len(set(found)) == 200


def test_where_no_port_is_free_one_line_says_so(taken, monkeypatch):
    port = taken.getsockname()[1]
    monkeypatch.setattr(ports, "PORTS", range(port, port + 1))
    with pytest.raises(PysyncError, match=f"found no free port between {port} and {port}"):
        ports.free_port()


def test_a_port_that_stays_taken_is_not_waited_for_longer_than_asked(taken):
    assert not ports.wait_until_free(taken.getsockname()[1], patience=0.2)


def test_a_port_that_is_taken_for_a_moment_is_waited_for(taken):
    end = threading.Timer(0.3, taken.close)
    end.start()
    assert ports.wait_until_free(taken.getsockname()[1], patience=20)
    end.join()
