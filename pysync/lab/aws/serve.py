"""The server process: `python -m pysync.lab.aws.serve DIRECTORY`. EmbeddedAws starts it."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from pysync.lab.aws.application import Application, AwsService
from pysync.lab.aws.athena import EmbeddedAthena
from pysync.lab.aws.ddl import Ddl
from pysync.lab.aws.faults import AwsFaults, CallCounts
from pysync.lab.aws.glue import Glue
from pysync.lab.aws.hive import Hive
from pysync.lab.aws.quotas import Quotas

HOST = "127.0.0.1"
URL_FILE = "url"


class _Handler(MotoRequestHandler):  # type: ignore[misc]  # moto is not typed
    disable_nagle_algorithm = True  # or an answer in two writes waits 40 ms for the client's acknowledgement


def main() -> None:
    """Serve until the process is ended; the address is written to a file as soon as it answers."""
    arguments = _arguments()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    faults, statements = AwsFaults(), CallCounts()
    glue = Glue()
    services: dict[str, AwsService] = {"Glue": glue}
    if arguments.athena:
        hive = Hive(arguments.directory / "hive")
        quotas = Quotas() if arguments.quotas else None
        services["Athena"] = EmbeddedAthena(Ddl(glue, hive, statements), faults, arguments.latency, quotas)
    application = Application(services, faults, CallCounts(), statements)
    server = make_server(HOST, arguments.port, application, threaded=True, request_handler=_Handler)
    _write_atomically(arguments.directory / URL_FILE, f"http://{HOST}:{server.server_port}")
    server.serve_forever()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve Glue, Athena and S3 on loopback.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--athena", action="store_true")
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--quotas", action="store_true")
    return parser.parse_args()


def _write_atomically(file: Path, text: str) -> None:
    unfinished = file.with_suffix(".new")
    unfinished.write_text(text, encoding="utf-8")
    # Whoever waits for the file must not read half an address.
    unfinished.replace(file)


if __name__ == "__main__":
    main()
