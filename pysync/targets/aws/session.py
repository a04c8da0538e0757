"""What the targets on AWS share: their settings, and clients of AWS's services, one for each service and target."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, CredentialProvider, DeferredRefreshableCredentials
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from pysync import __version__
from pysync.base.errors import PysyncError
from pysync.base.validation import Finite, Interval, Seconds, matching
from pysync.targets.aws.errors import classified
from pysync.targets.aws.translate import s3_location
from pysync.targets.settings import TargetSettings

# Clients of AWS services: one for each service and target, shared by its lanes.
#
# boto3's clients may be used from several threads. A shared one has one connection pool, and one rate at which all
# lanes together send, if the settings limit it.
#
# botocore tries calls again in its mode `standard`. `adaptive` would slow all calls down long after AWS has stopped
# throttling, those that AWS does not throttle, too. Athena's calls are sent once: `pysync.targets.athena` paces them.


ATTEMPTS = 3
"""How often botocore sends a call. Beyond that the drain is patient, for ever. But it begins the whole operation again,
which a single throttled call of a thousand should not cause."""

_SENT_ONCE = frozenset({"athena"})
_BEFORE_SEND = "before-send."  # and the service's name, and that of the call


T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Clients:
    """What the lanes of one settings object share: clients, by their service, and whatever a kind adds."""

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
    config = Config(
        connect_timeout=settings.connect_timeout_seconds,
        read_timeout=settings.timeout_seconds,
        retries={"mode": "standard", "total_max_attempts": 1 if service in _SENT_ONCE else ATTEMPTS},
        max_pool_connections=settings.lanes * settings.parallel,
        user_agent_appid=f"pysync-{__version__}",
    )
    built = _session(settings).client(service, endpoint_url=settings.endpoint_of(service), config=config)
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
        """The credentials; makes no call yet."""
        settings, role = self._settings, self._settings.assume_role
        # Not the session that this provider is in: it would ask itself for credentials.
        session = botocore.session.Session(profile=settings.profile)
        if settings.region:
            session.set_config_variable("region", settings.region)
        credentials = session.get_credentials()
        if role is None or credentials is None:
            return None
        request = {"RoleSessionName": role.session_name}
        request |= {"ExternalId": role.external_id} if role.external_id else {}
        fetcher = AssumeRoleCredentialFetcher(session.create_client, credentials, role.arn, extra_args=request)
        return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=fetcher.fetch_credentials)


# Settings of every target on AWS. There is no secret among them: credentials come from the chain that boto3 knows.


Url = Annotated[str, matching(r"https?://\S+", 'a URL; write "https://host"')]


class AssumeRole(BaseModel):
    """The IAM role that a target works as, taken on with the credentials that are found first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    arn: Annotated[
        str,
        matching(r"arn:[a-z-]+:iam::\d{12}:role/\S+", 'the ARN of a role; write "arn:aws:iam::123456789012:role/NAME"'),
    ] = Field(description="ARN of the role: arn:aws:iam::ACCOUNT:role/NAME.")
    external_id: str | None = Field(default=None, description="External ID that the role's trust policy asks for.")
    session_name: Annotated[
        str, matching(r"[\w+=,.@-]{2,64}", "a session name; use 2 to 64 letters, digits and _+=,.@-")
    ] = Field(default="pysync", description="Session name that CloudTrail shows.")


class AwsSettings(TargetSettings):
    """What `[[targets]]` tables of AWS have in common."""

    region: str | None = Field(
        default=None, description="AWS region. Default: the region of the profile, or AWS_REGION."
    )
    profile: str | None = Field(
        default=None, description="Profile in ~/.aws/config. Default: the default credential chain."
    )
    assume_role: AssumeRole | None = Field(default=None, description="IAM role to assume: arn, external_id.")
    catalog_id: Annotated[str, matching(r"\S{1,255}", "a catalog ID; spaces are refused")] | None = Field(
        default=None, description="Account of the Data Catalog. Default: the account of the credentials."
    )
    endpoint_url: Url | None = Field(
        default=None, description="Another endpoint of AWS, for example in a VPC, or an emulator."
    )
    create_missing_databases: bool = Field(
        default=False, description="Whether a missing database is created for a table. Otherwise the event is parked."
    )
    keep_parameters: tuple[str, ...] = Field(
        default=("*",),
        description="Parameters that stay if others set them at the target, and the source never had them; with * and "
        "?. []: all parameters are the source's.",
    )
    statistics: Literal["off", "columns"] = Field(
        default="off", description="columns: replicate column statistics, too, by the Glue API."
    )
    rename: Literal["copy", "keep"] = Field(
        default="copy",
        description="What is done about a renamed table. copy: it is created anew, its partitions are copied, and its "
        "grants, tags and versions are lost; keep: the event is parked.",
    )
    partition_indexes: dict[str, tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...]] = Field(
        default={}, description="Partition indexes, by db.table at the target, with * and ?: lists of partition keys."
    )
    lf_tags: dict[str, dict[str, str]] = Field(
        default={},
        description="Tags of Lake Formation, by db or db.table at the target, with * and ?. They are only added.",
    )
    log_schemas_every: Interval | None = Field(
        default=None,
        description="How often the columns of Delta and Hudi tables are read from their logs on S3: 10m, 1h. Default: "
        "never, a table has the columns of the source.",
    )
    views: Literal["strict", "best-effort", "off"] = Field(
        default="best-effort",
        description="Views of Hive. best-effort: translated for Athena if that is known to give the same rows, else "
        "kept as HiveQL; strict: parked if they cannot be translated; off: kept as HiveQL.",
    )
    hive_version: Literal["2.3", "3.1", "4"] | None = Field(
        default=None,
        description="The version of Hive whose views these are. Versions read strings as numbers and dates, and order "
        "NULLs, in ways of their own. Default: views that all versions read alike are translated.",
    )
    timeout_seconds: Seconds = Field(default=60.0, gt=0, description="Timeout of a call.")
    connect_timeout_seconds: Seconds = Field(default=5.0, gt=0, description="Timeout for connecting.")
    max_rate: Finite | None = Field(
        default=None,
        gt=0,
        description="Limit of calls per second for all lanes together. Default: as many as AWS takes.",
    )
    parallel: int = Field(default=4, ge=1, le=32, description="Number of parallel calls of one operation.")

    # Lanes are opened from one settings object: through it they share their clients, and so one rate and one pool.
    _clients: Clients = PrivateAttr(default_factory=Clients)

    def place(self) -> str | None:
        """The Data Catalog, as far as the settings show it."""
        return f"aws {self.endpoint_url} {self.region} {self.catalog_id} {self.profile} {self.assume_role}"

    @property
    def keeps_statistics(self) -> bool:
        """As configured."""
        return self.statistics == "columns"

    @property
    def creates_databases(self) -> bool:
        """As configured."""
        return self.create_missing_databases

    @property
    def translates_views(self) -> bool:
        """As configured."""
        return self.views != "off"

    @property
    def reads_logs_every(self) -> int | None:
        """As configured (s)."""
        return self.log_schemas_every

    def share_with(self, other: AwsSettings) -> None:
        """Let `other` have what the lanes have in common: one pool of connections and one rate for all of a target."""
        other._clients = self._clients

    def endpoint_of(self, service: str) -> str | None:
        """The endpoint of a service; None: as botocore finds it.

        An endpoint in a VPC is of one service; one without TLS is an emulator, which has all. S3 is only read, at its
        own endpoint, or at the one that the environment names.
        """
        is_emulator = service != "s3" and (self.endpoint_url or "").startswith("http://")
        return self.endpoint_url if service in {"glue", "athena"} or is_emulator else None

    @field_validator("delete_data")
    @classmethod
    def _has_no_files(cls, value: bool) -> bool:
        if value:
            raise ValueError("the Glue Data Catalog holds no files, so pysync cannot delete data there")
        return value

    @model_validator(mode="before")
    @classmethod
    def _s3_locations(cls, data: Any) -> Any:
        """Locations of the target are s3:// ones, whatever Hadoop's name for them."""
        locations = data.get("locations") if isinstance(data, dict) else None
        if not isinstance(locations, dict):
            return data
        mapped = {old: s3_location(new) if isinstance(new, str) else new for old, new in locations.items()}
        return {**data, "locations": mapped}
