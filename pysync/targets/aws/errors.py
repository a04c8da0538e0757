"""What AWS's answers mean: the one place that sorts them into the kinds of pysync.targets.base."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from pysync.base.errors import PysyncError
from pysync.targets.answers import Answer, answer
from pysync.targets.aws.bounded_answers import AwsAnswerTooLarge
from pysync.targets.base import Forbidden, OutcomeUnknown, Rejected, Unavailable

NOT_FOUND = "EntityNotFoundException"
EXISTS = "AlreadyExistsException"
CONFLICT = "ConcurrentModificationException"
RACES = frozenset({NOT_FOUND, EXISTS, CONFLICT})
"""Answers that another client's change between our read and our write may cause: the operation is decided again."""

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

_CREDENTIALS_HINT = (
    "check profile and assume_role of the target, and the environment; pysync finds credentials that come later, and "
    "renews those of roles; after a change of keys: pysync reload"
)
_DENIED_HINT = (
    "grant the permission; Lake Formation also denies access to missing objects if the role may not create or "
    "describe them"
)
_QUOTA_HINT = "ask AWS for a higher quota, then retry"
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error of AWS: its name, message and HTTP status; or the `cause` why there is no answer of AWS."""

    name: str = ""
    message: str = ""
    status: int = 0
    cause: Exception | None = None


def _named(*names: str) -> Callable[[_Failure], bool]:
    return lambda it: it.name in names


def _caused(*types: type[Exception]) -> Callable[[_Failure], bool]:
    return lambda it: isinstance(it.cause, types)


_ANSWERS: Sequence[Answer[_Failure]] = (
    Answer(
        # Throttling is a 400 of several names, one of which no model has.
        _named(
            "LimitExceededException",
            "RequestLimitExceeded",
            "RequestThrottled",
            "RequestThrottledException",
            "SlowDown",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
        ),
        Unavailable,
    ),
    Answer(lambda it: "rate exceeded" in it.message.lower(), Unavailable),
    Answer(_named(CONFLICT, "FederationSourceRetryableException", "ResourceNotReadyException"), Unavailable),
    Answer(
        # Credentials are renewed: no event is to be parked for them.
        _named(
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
        ),
        Unavailable,
        _CREDENTIALS_HINT,
    ),
    Answer(
        _named("AccessDenied", "AccessDeniedException", "GlueEncryptionException", "UnauthorizedOperation"),
        Forbidden,
        _DENIED_HINT,
    ),
    Answer(_named("ResourceNumberLimitExceededException"), Rejected, _QUOTA_HINT),
    Answer(_named(*INVALID, EXISTS, NOT_FOUND, "OperationNotSupportedException"), Rejected),
    Answer(
        # The service failed, perhaps after it had done the call.
        _named(
            "InternalFailure",
            "InternalServerException",
            "InternalServiceException",
            "OperationTimeoutException",
            "ServiceUnavailable",
            "ServiceUnavailableException",
        ),
        OutcomeUnknown,
    ),
    Answer(lambda it: it.status >= _SERVER_ERROR, OutcomeUnknown),
    Answer(
        _caused(
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
        ),
        Unavailable,
        _CREDENTIALS_HINT,
    ),
    Answer(  # never sent
        _caused(
            boto.ConnectTimeoutError,
            boto.EndpointConnectionError,
            boto.ProxyConnectionError,
            boto.SSLError,
        ),
        Unavailable,
    ),
    Answer(  # sent, and cut off before the answer came
        _caused(boto.HTTPClientError, boto.ReadTimeoutError, boto.ResponseStreamingError, ResponseParserError),
        OutcomeUnknown,
    ),
    Answer(_caused(boto.ParamValidationError, AwsAnswerTooLarge), Rejected),
)


def code(error: Exception) -> str:
    """AWS's name for an error; empty where the error is not an answer of AWS."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, boto.ClientError) else ""


@contextmanager
def classified(action: str, *, reading: bool = False) -> Iterator[None]:
    """Turn boto's errors into those of a target; `action` describes the call and the place.

    Raises Unavailable, Rejected, OutcomeUnknown, or a plain PysyncError for an answer that nobody has classified.
    Where nothing could have been changed (`reading`), there is no unknown outcome: then it is Unavailable.
    """
    try:
        yield
    except boto.ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        message = error.response.get("Error", {}).get("Message") or "no reason given"
        raise of_code(code(error), message, action, status, reading=reading) from error
    except (boto.BotoCoreError, ResponseParserError) as error:
        raise _error(_Failure(cause=error), action, error, reading=reading) from error


def of_code(name: str, message: str, action: str, status: int = 0, *, reading: bool = False) -> PysyncError:
    """The error of a target for one of AWS's: its name, its message, and what was tried."""
    return _error(_Failure(name, message, status), action, f"{name}: {message}", reading=reading)


def _error(failure: _Failure, action: str, message: object, *, reading: bool) -> PysyncError:
    return answer(_ANSWERS, failure).error(action, message, reading=reading)
