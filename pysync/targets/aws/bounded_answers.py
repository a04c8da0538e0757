"""Answers of AWS's services are read up to a bound: botocore reads whatever comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from botocore import exceptions as boto
from botocore.awsrequest import AWSResponse
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from pysync.base.text import size

MOST_IN_ANSWER = 64 * 1024 * 1024
"""Bytes. AWS's own answers have a few MiB at most."""


class AwsAnswerTooLarge(boto.BotoCoreError):  # type: ignore[misc]
    """An answer has more bytes than are taken."""

    fmt = "the answer has more than {most}"


class BoundedHttp:
    """What sends the requests of a client, in place of botocore's own session, which it uses.

    A body that the caller reads by itself, as that of an object of S3, is the caller's to bound.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> AWSResponse:
        """The answer. Raises what botocore's session raises, and AwsAnswerTooLarge."""
        if request.stream_output:
            return self._session.send(request)
        request.stream_output = True  # else the session would read all of it
        answer = self._session.send(request)
        return AWSResponse(answer.url, answer.status_code, answer.headers, _Read(_content(answer, request)))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


class _Read:
    """A body that has been read, as botocore asks for it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterable[bytes]:
        return [self._content]


def _content(answer: AWSResponse, request: Any) -> bytes:
    content = bytearray()
    try:
        for part in answer.raw.stream():
            content += part
            if len(content) > MOST_IN_ANSWER:
                answer.raw.close()
                raise AwsAnswerTooLarge(most=size(MOST_IN_ANSWER))
    # As botocore's session, had it read the body.
    except ReadTimeoutError as error:
        raise boto.ReadTimeoutError(endpoint_url=request.url, error=error) from error
    except ProtocolError as error:
        raise boto.ConnectionClosedError(error=error, request=request, endpoint_url=request.url) from error
    return bytes(content)
