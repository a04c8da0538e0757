"""How a service of AWS says no."""

from __future__ import annotations

SERVER_FAULTS = ("InternalService", "InternalServer", "InternalFailure", "OperationTimeout", "ServiceUnavailable")


class AwsRefusal(Exception):
    """An error answer: its code and message as the real service words them, and further members of the answer."""

    def __init__(self, code: str, message: str, **members: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.members = members

    @property
    def status(self) -> int:
        """Its HTTP status: 500 if the fault is the service's, 400 if it is the caller's."""
        return 500 if self.code.startswith(SERVER_FAULTS) else 400


def invalid(message: str) -> AwsRefusal:
    """Glue's refusal of a request that keeps to the model but makes no sense."""
    return AwsRefusal("InvalidInputException", message)


def not_found(message: str) -> AwsRefusal:
    """Glue's refusal of a name that nothing has."""
    return AwsRefusal("EntityNotFoundException", message)


def already_exists(kind: str) -> AwsRefusal:
    """Glue's refusal of a name that something has."""
    return AwsRefusal("AlreadyExistsException", f"{kind} already exists.")
