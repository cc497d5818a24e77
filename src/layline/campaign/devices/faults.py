"""What ends a measuring run: the candidate did what none may do, or the machine made an observation worthless."""

from __future__ import annotations

from layline.errors import BenchError


class Disturbed(BenchError):
    """The machine, not the candidate, made an observation worthless: there is no verdict, the run has to be
    repeated.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} There is no verdict.", hint="Measure again when the machine is less busy.")
        self.what = what

    def __reduce__(self) -> tuple[type[Disturbed], tuple[str]]:
        return Disturbed, (self.what,)


class Fault(Exception):
    """The candidate did what no kernel may do: which property, in which words, with what evidence."""

    def __init__(self, property_: str, reason: str, *evidence: str) -> None:
        super().__init__(reason)
        self.property = property_
        self.reason = reason
        self.evidence = evidence

    def __reduce__(self) -> tuple[type[Fault], tuple[str, ...]]:
        return Fault, (self.property, self.reason, *self.evidence)
