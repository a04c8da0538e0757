"""Clients of AWS services: one for each service and target, shared by its lanes.

boto3's clients may be used from several threads. A shared one has one connection pool, and one rate at which all lanes
together send, if the settings limit it.

botocore tries calls again in its mode `standard`. `adaptive` would slow all calls down long after AWS has stopped
throttling, those that AWS does not throttle, too. Athena's calls are sent once: `pysync.targets.athena` paces them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, CredentialProvider, DeferredRefreshableCredentials
from botocore.exceptions import NoCredentialsError

from pysync import __version__
from pysync.base.errors import PysyncError
from pysync.targets.aws.bounded_answers import BoundedHttp
from pysync.targets.aws.credential_sources import bound
from pysync.targets.aws.errors import classified
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.settings import TargetSettings

ATTEMPTS = 3
"""How often botocore sends a call. Beyond that the drain is patient, for ever. But it begins the whole operation again,
which a single throttled call of a thousand should not cause."""
_SENT_ONCE = frozenset({"athena"})
_CONNECT_SECONDS = 5
_SESSION_NAME = "pysync"
"""What CloudTrail shows of calls with an assumed role."""
_BEFORE_SEND = "before-send."  # and the service's name, and that of the call
T = TypeVar("T")


def client(settings: AwsSettings, service: str) -> Any:
    """The boto3 client of a service (`glue`, `athena`), the same one for all lanes. Sends nothing.

    Raises Unavailable when the profile, the region or the credentials are not there; the next call looks again.
    """

    def build() -> Any:
        with classified(f"target {settings.name!r} cannot use AWS", reading=True):
            return _build(settings, service)

    return shared(settings, service, build)


def shared(settings: AwsSettings, name: str, build: Callable[[], T]) -> T:
    """What all lanes of a target have in common under this name; the first caller builds it."""
    clients = settings._clients
    with clients.lock:
        if name not in clients.built:
            clients.built[name] = build()
        built: T = clients.built[name]
        return built


def observe_calls(settings: AwsSettings, service: str, on_call: Callable[[str], object]) -> None:
    """Call `on_call` with `glue.GetTable` and so on for each request that a service's client sends, from any thread.

    All lanes share the client, so it is registered once. Raises what `client` raises.
    """

    def on_request(event_name: str, **_: Any) -> None:
        on_call(event_name.removeprefix(_BEFORE_SEND))

    client(settings, service).meta.events.register(f"{_BEFORE_SEND}{service}", on_request, unique_id="pysync-calls")


def provide(settings: TargetSettings, **clients: Any) -> None:
    """Use these clients, by service name, and build none: for credentials that cannot be found otherwise.

    Raises PysyncError for a target that is not AWS's.
    """
    if not isinstance(settings, AwsSettings):
        raise PysyncError(f"target {settings.name!r} is not on AWS", 'this needs kind = "glue" or "athena"')
    with settings._clients.lock:
        settings._clients.built.update(clients)


def _build(settings: AwsSettings, service: str) -> Any:
    attempts = 1 if service in _SENT_ONCE else ATTEMPTS
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts},
        max_pool_connections=settings.lanes * settings.parallel,
    )
    session = _session(settings)
    # A client never looks for credentials again, so one without any would stay so until the next start.
    if session.get_credentials() is None:
        raise NoCredentialsError
    built = session.client(service, endpoint_url=settings.endpoint_of(service), config=config)
    if settings.max_rate is not None:
        built.meta.events.register(f"{_BEFORE_SEND}{service}", Pacer(settings.max_rate))
    return built


class _BoundedSession(botocore.session.Session):  # type: ignore[misc]
    """Its clients wait for a limited time, and read answers up to a bound.

    Also those that botocore makes by itself, when a profile gets its credentials from STS or by a single sign-on; and
    what else gives credentials has its time and bounds, too.
    """

    def __init__(self, settings: AwsSettings) -> None:
        self._seconds = settings.timeout_seconds
        super().__init__(profile=settings.profile)
        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=settings.timeout_seconds,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            user_agent_appid=f"pysync-{__version__}",
        )
        self.set_default_client_config(config)

    def create_client(self, service_name: str, *args: Any, **named: Any) -> Any:
        """The client."""
        built = super().create_client(service_name, *args, **named)
        # botocore has no public way: a handler of `before-send` may answer in place of the endpoint, but with a session
        # of its own, which would not have the endpoint's proxies and certificates.
        built._endpoint.http_session = BoundedHttp(built._endpoint.http_session, service_name)
        return built

    def _create_credential_resolver(self) -> Any:
        return bound(super()._create_credential_resolver(), self._seconds)


def _session(settings: AwsSettings) -> Any:
    core = _BoundedSession(settings)
    if settings.assume_role is not None:
        # First in the chain, or the credentials that the role is taken on with would be used themselves.
        core.get_component("credential_provider").providers.insert(0, _Role(settings))
    return boto3.Session(botocore_session=core, region_name=settings.region)


class Pacer:
    """Lets calls go one after the other, no more than `rate` a second; called in any thread before each is sent.

    Quotas of AWS are of each call: also of one that is tried again, of a comparison, and of a command without a
    sidecar. `max_calls_per_second` (`base/throttle`) cannot keep them: it lets an operation make all of its calls at
    once, 300 for 10,000 partitions, and limits the drain's operations only.
    """

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
        """The credentials; makes no call yet."""
        settings, role = self._settings, self._settings.assume_role
        # Not the session that this provider is in: it would ask itself for credentials.
        session = _BoundedSession(settings)
        if settings.region:
            session.set_config_variable("region", settings.region)
        credentials = session.get_credentials()
        if role is None or credentials is None:
            return None
        request = {"RoleSessionName": _SESSION_NAME}
        request |= {"ExternalId": role.external_id} if role.external_id else {}
        fetcher = AssumeRoleCredentialFetcher(session.create_client, credentials, role.arn, extra_args=request)
        return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=fetcher.fetch_credentials)
