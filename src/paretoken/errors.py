"""What can go wrong, as a tree.

    ParetokenError            a sentence for the user; exit 1
    ├── UsageError            the command or a setting is wrong; exit 2
    ├── MissingExtraError     an optional part is not installed; names the extra
    ├── ModelError            a model file is missing, broken or hostile
    ├── EngineError           an engine did not start, died, or is not what it claims to be
    ├── EndpointError         an address does not answer, or answers something else
    ├── CaptureError          a stored capture, record or study cannot be read
    └── InvalidMeasurement    measured, but a doubt forbids a verdict; exit 3

Every message is one sentence that names the input and the fix. Failures of single requests are not
errors: they are records (core/record.py).
"""


class ParetokenError(Exception):
    """Base of all errors that a user sees as one sentence. `exit_code` is the process's exit status."""

    exit_code = 1


class UsageError(ParetokenError):
    exit_code = 2


class MissingExtraError(ParetokenError):
    def __init__(self, what: str, extra: str) -> None:
        extras = ",".join(dict.fromkeys(("local", "report", extra)))
        super().__init__(f"{what} needs the extra '{extra}': pip install '.[{extras}]' in the checkout")
        self.extra = extra


class ModelError(ParetokenError):
    pass


class EngineError(ParetokenError):
    pass


class EndpointError(ParetokenError):
    pass


class CaptureError(ParetokenError):
    pass


class InvalidMeasurement(ParetokenError):
    exit_code = 3
