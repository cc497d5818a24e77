"""The exception tree: what a user can mend, in one sentence with a hint.

Expected bad news is a value (`Skipped`, a verdict, a drift kind); an exception means "cannot answer".
"""

from __future__ import annotations


class Error(Exception):
    """Layline cannot answer; the message says what and where, the hint what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(Error):
    """The configuration, or a choice the user must make, is missing or wrong."""


class GitError(Error):
    """A repository, ref or object cannot be read."""


class SilentGitError(GitError):
    """Git ended with a failure and said nothing: how `grep` and `merge-base` tell that there is nothing."""


class MissingObject(GitError):
    """A repository is fine but does not hold this object (shallow, partial or not fetched)."""

    def __init__(self, name: str, repo: str, *, hint: str | None = None) -> None:
        super().__init__(f"{repo} has no object {name}.", hint=hint)
        self.name = name
        self.repo = repo


class RecordError(Error):
    """A record or data file does not have the shape it must have; every problem is named."""

    def __init__(self, where: str, problems: tuple[str, ...], *, hint: str | None = None) -> None:
        listed = problems[0] if len(problems) == 1 else "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"{where}: {listed}", hint=hint)
        self.where = where
        self.problems = problems


class BenchError(Error):
    """A measurement could not be made (never: the measurement was bad news)."""


class Ended(SystemExit):
    """Somebody asked this process to end: nothing that any code raised."""


def say_error(error: Exception) -> str:
    """What the system says of a file that cannot be read, without its number and without the path again."""
    return str(getattr(error, "strerror", None) or error)
