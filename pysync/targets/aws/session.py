"""Clients of AWS services: one for each service and target, shared by its lanes.

boto3's clients may be used from several threads. A shared one has one connection pool, and one rate at which all lanes
together send: botocore's adaptive mode lowers it when AWS throttles and raises it again (one bucket for each client).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, CredentialProvider, DeferredRefreshableCredentials

from pysync import __version__
from pysync.errors import PysyncError
from pysync.targets.aws.errors import classified
from pysync.targets.settings import TargetSettings

if TYPE_CHECKING:
    from pysync.targets.aws.settings import AwsSettings

ATTEMPTS = 3
"""How often botocore sends a call. Beyond that the drain is patient, for ever. But it begins the whole operation anew,
which a single throttled call of a thousand should not cause."""

_BEFORE_SEND = "before-send."  # and the service's name, and that of the call


@dataclass(slots=True, eq=False)
class Clients:
    """The clients that were built for one settings object, by their service."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    built: dict[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Settings that say the same are equal, whether they are in use or not."""
        return isinstance(other, Clients)

    __hash__ = None  # type: ignore[assignment]


def client(settings: AwsSettings, service: str) -> Any:
    """The boto3 client of a service (`glue`, `athena`), the same one for all lanes. Sends nothing.

    Raises Unavailable when the profile, the region or the credentials' source is not there.
    """
    clients = settings._clients
    with clients.lock:
        if service not in clients.built:
            with classified(f"target {settings.name!r} cannot use AWS", reading=True):
                clients.built[service] = _build(settings, service)
        return clients.built[service]


def tell_calls(settings: AwsSettings, service: str, on_call: Callable[[str], object]) -> None:
    """Call `on_call` with `glue.GetTable` and so on for each request that a service's client sends, from any thread.

    All lanes share the client, and have it told once. Raises what `client` raises.
    """

    def told(event_name: str, **_: Any) -> None:
        on_call(event_name.removeprefix(_BEFORE_SEND))

    client(settings, service).meta.events.register(f"{_BEFORE_SEND}{service}", told, unique_id="pysync-calls")


def provide(settings: TargetSettings, **clients: Any) -> None:
    """Use these clients, by service name, and build none: for credentials that cannot be found otherwise.

    Raises PysyncError for a target that is not AWS's.
    """
    known = getattr(settings, "_clients", None)
    if not isinstance(known, Clients):
        raise PysyncError(f"target {settings.name!r} is not on AWS", 'this needs kind = "glue" or "athena"')
    with known.lock:
        known.built.update(clients)


def _build(settings: AwsSettings, service: str) -> Any:
    config = Config(
        connect_timeout=settings.connect_timeout_seconds,
        read_timeout=settings.timeout_seconds,
        retries={"mode": "adaptive", "total_max_attempts": ATTEMPTS},
        max_pool_connections=settings.lanes * settings.parallel,
        user_agent_appid=f"pysync-{__version__}",
    )
    # S3 is only read, at its own endpoint, or at the one that the environment names (AWS_ENDPOINT_URL_S3).
    endpoint = None if service == "s3" else settings.endpoint_url
    built = _session(settings).client(service, endpoint_url=endpoint, config=config)
    if settings.max_rate is not None:
        built.meta.events.register(f"{_BEFORE_SEND}{service}", Pacer(settings.max_rate))
    return built


def _session(settings: AwsSettings) -> Any:
    core = botocore.session.Session(profile=settings.profile)
    if settings.assume_role is not None:
        # First in the chain, or the credentials that the role is taken on with would be used themselves.
        core.get_component("credential_provider").providers.insert(0, _Role(settings))
    return boto3.Session(botocore_session=core, region_name=settings.region)


class Pacer:
    """Lets calls go one after the other, no more than `rate` a second; called in any thread before each is sent."""

    def __init__(self, rate: float) -> None:
        self._gap = 1 / rate
        self._lock = threading.Lock()
        self._next = 0.0

    def __call__(self, **_: Any) -> None:
        """Wait for this call's turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap
        # Outside of the lock, so that others can take their turns meanwhile.
        time.sleep(turn - now)


class _Role(CredentialProvider):  # type: ignore[misc]
    """Credentials of the role, fetched from STS when first wanted and again before they expire."""

    METHOD = "assume-role"
    CANONICAL_NAME = "pysync"

    def __init__(self, settings: AwsSettings) -> None:
        super().__init__()
        self._settings = settings

    def load(self) -> Any:
        """The credentials; asks nobody yet."""
        settings, role = self._settings, self._settings.assume_role
        # Not the session that this provider is in: it would ask itself for credentials.
        own = botocore.session.Session(profile=settings.profile)
        if settings.region:
            own.set_config_variable("region", settings.region)
        found = own.get_credentials()
        if role is None or found is None:
            return None
        asked = {"RoleSessionName": role.session_name}
        asked |= {"ExternalId": role.external_id} if role.external_id else {}
        fetcher = AssumeRoleCredentialFetcher(own.create_client, found, role.arn, extra_args=asked)
        return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=fetcher.fetch_credentials)
