"""Answers of AWS's services are read up to a bound, and for a limited time: botocore reads whatever comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from botocore import exceptions as boto
from botocore.awsrequest import AWSHTTPConnection, AWSHTTPSConnection, AWSResponse
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from pysync.base.text import size
from pysync.base.timed_answers import TimedAnswer

MOST_IN_ANSWER = 64 * 1024 * 1024
"""Bytes. AWS's own answers have a few MiB at most."""
METADATA = "metadata"
"""The name of what tells a machine or a container about itself, in place of a service's."""
_OF_CREDENTIALS = frozenset({"sts", "sso", "sso-oidc", "signin", METADATA})
"""Services that botocore asks for credentials."""

# For all connections of botocore: it makes some by itself, as those to the metadata of a machine.
for _kind in (AWSHTTPConnection, AWSHTTPSConnection):
    _kind.response_class = TimedAnswer


class AwsAnswerTooLarge(boto.BotoCoreError):  # type: ignore[misc]
    """An answer has more bytes than are taken."""

    fmt = "the answer has more than {most}"


class BoundedHttp:
    """What sends the requests of a client, in place of botocore's own session, which it uses.

    A body that the caller reads by itself, as that of an object of S3, is the caller's to bound.
    """

    def __init__(self, session: Any, service: str) -> None:
        self._session = session
        self._service = service

    def send(self, request: Any) -> AWSResponse:
        """The answer. Raises what botocore's session raises, and AwsAnswerTooLarge; CredentialRetrievalError instead
        where the answer is about credentials, as that is about no object.
        """
        if request.stream_output:
            return self._session.send(request)
        request.stream_output = True  # else the session would read all of it
        answer = self._session.send(request)
        return AWSResponse(answer.url, answer.status_code, answer.headers, _Read(self._content(answer, request)))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _content(self, answer: AWSResponse, request: Any) -> bytes:
        content = bytearray()
        try:
            for part in answer.raw.stream():
                content += part
                if len(content) > MOST_IN_ANSWER:
                    answer.raw.close()
                    raise self._too_large()
        # As botocore's session, had it read the body.
        except ReadTimeoutError as error:
            raise boto.ReadTimeoutError(endpoint_url=request.url, error=error) from error
        except ProtocolError as error:
            raise boto.ConnectionClosedError(error=error, request=request, endpoint_url=request.url) from error
        return bytes(content)

    def _too_large(self) -> boto.BotoCoreError:
        most = size(MOST_IN_ANSWER)
        if self._service in _OF_CREDENTIALS:
            return boto.CredentialRetrievalError(provider=self._service, error_msg=f"the answer has more than {most}")
        return AwsAnswerTooLarge(most=most)


class _Read:
    """A body that has been read, as botocore asks for it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterable[bytes]:
        return [self._content]
