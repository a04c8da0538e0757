"""What AWS's answers mean: the one place that sorts them into the kinds of pysync.targets.base."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from pysync.errors import PysyncError
from pysync.targets.base import Forbidden, OutcomeUnknown, Rejected, Unavailable

NOT_FOUND = "EntityNotFoundException"
EXISTS = "AlreadyExistsException"
CONFLICT = "ConcurrentModificationException"
RACES = frozenset({NOT_FOUND, EXISTS, CONFLICT})
"""Answers that another client's change between our read and our write may cause: the operation is decided anew."""

INVALID = frozenset(
    {
        "413",  # too large for what stands before the service, which gives it no name
        "InvalidInputException",
        "InvalidRequestException",
        "RequestEntityTooLarge",
        "RequestEntityTooLargeException",
        "SerializationException",
        "ValidationException",
    }
)
"""Answers that something in a call is wrong or too large; in a batch that may be a single item."""

_REFUSALS = INVALID | {EXISTS, NOT_FOUND} | {"OperationNotSupportedException", "ResourceNumberLimitExceededException"}
# Throttling is a 400 of several names, one of which no model has.
_THROTTLED = frozenset(
    {
        "LimitExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "GlueEncryptionException", "UnauthorizedOperation"})
# The service failed, perhaps after it had done the call.
_SERVICE = frozenset(
    {
        "InternalFailure",
        "InternalServerException",
        "InternalServiceException",
        "OperationTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
    }
)
_NOT_NOW = frozenset({CONFLICT, "FederationSourceRetryableException", "ResourceNotReadyException"})

_NEVER_SENT = (
    boto.ConnectTimeoutError,
    boto.EndpointConnectionError,
    boto.ProxyConnectionError,
    boto.SSLError,
)
_CUT_OFF = (boto.HTTPClientError, boto.ReadTimeoutError, boto.ResponseStreamingError, ResponseParserError)
_NO_CREDENTIALS = (
    boto.CredentialRetrievalError,
    boto.InvalidConfigError,
    boto.MetadataRetrievalError,
    boto.NoAuthTokenError,
    boto.NoCredentialsError,
    boto.NoRegionError,
    boto.PartialCredentialsError,
    boto.ProfileNotFound,
    boto.SSOError,
    boto.TokenRetrievalError,
)

_CREDENTIALS_HINT = "see the target's profile, assume_role and the environment; renewed credentials are taken up"
_DENIED_HINT = (
    "grant it; Lake Formation answers so about what is not there, too, to those who may neither create nor describe it"
)
_QUOTA_HINT = "ask AWS for a higher quota, then retry"
_LONGEST = 500  # characters: a message travels in logs, in status and on the web page
_SERVER_ERROR = 500


def code(error: Exception) -> str:
    """AWS's name for an error; empty where the error is not an answer of AWS."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, boto.ClientError) else ""


def line(text: str) -> str:
    """The text as one line that is not too long for logs, status and the web page."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


@contextmanager
def classified(what: str, *, reading: bool = False) -> Iterator[None]:
    """Turn boto's errors into those of a target; `what` says what was tried, and where.

    Raises Unavailable, Rejected, OutcomeUnknown, or a plain PysyncError for an answer that nobody has classified.
    Where nothing could have been changed (`reading`), there is no unknown outcome: then it is Unavailable.
    """
    try:
        yield
    except boto.ClientError as error:
        raise _of_answer(error, what, reading) from error
    except (boto.BotoCoreError, ResponseParserError) as error:
        raise _of_connection(error, what, reading) from error


def of_code(name: str, message: str, what: str, status: int = 0, *, reading: bool = False) -> PysyncError:
    """The error of a target for one of AWS's: its name, its message, and what was tried."""
    kind, hint = _kind(name, message, status)
    if kind is OutcomeUnknown and reading:
        kind = Unavailable
    return kind(line(f"{what}: {name}: {message}"), hint)


def _of_answer(error: boto.ClientError, what: str, reading: bool) -> PysyncError:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    said = error.response.get("Error", {}).get("Message") or "no reason given"
    return of_code(code(error), said, what, status, reading=reading)


def _kind(name: str, message: str, status: int) -> tuple[type[PysyncError], str | None]:
    if name in _THROTTLED or "rate exceeded" in message.lower() or name in _NOT_NOW:
        return Unavailable, None
    # Credentials are renewed: no event is to be parked for them.
    if name in _CREDENTIALS:
        return Unavailable, _CREDENTIALS_HINT
    if name in _DENIED:
        return Forbidden, _DENIED_HINT
    if name in _REFUSALS:
        return Rejected, _QUOTA_HINT if name == "ResourceNumberLimitExceededException" else None
    if name in _SERVICE or status >= _SERVER_ERROR:
        return OutcomeUnknown, None
    return PysyncError, None


def _of_connection(error: Exception, what: str, reading: bool) -> PysyncError:
    said = line(f"{what}: {error}")
    if isinstance(error, _NO_CREDENTIALS):
        return Unavailable(said, _CREDENTIALS_HINT)
    if isinstance(error, _NEVER_SENT):
        return Unavailable(said)
    if isinstance(error, _CUT_OFF):
        return Unavailable(said) if reading else OutcomeUnknown(said)
    return Rejected(said) if isinstance(error, boto.ParamValidationError) else PysyncError(said)
