"""The JSON answers of commands that belong to no analyser."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict


class Draft(TypedDict):
    key: str
    remarks: list[str]
    choices: list[str]


class Init(TypedDict):
    """`init`."""

    schema: Literal["layline.init/1"]
    file: str
    backends: list[Draft]
    text: str


class Finding(TypedDict):
    subject: str
    what: str
    state: str
    detail: str
    remedy: str
    value: NotRequired[str]


class Doctor(TypedDict):
    """`doctor`."""

    schema: Literal["layline.doctor/1"]
    findings: list[Finding]


class Machine(TypedDict):
    """One place where work is done."""

    host: str
    node: str
    kind: str
    processor: str
    cores: int
    accelerators: list[str]
    python: str
    libraries: list[str]
    code: str
    same_code: bool


class SilentMachine(TypedDict):
    """One that is there and does not answer."""

    host: str
    node: str
    why: str
    hint: str


class DoctorExecutor(TypedDict):
    """`doctor --executor`."""

    schema: Literal["layline.doctor-executor/1"]
    executor: str
    code: str
    machines: list[Machine]
    silent: list[SilentMachine]
    kinds: list[str]


class Kept(TypedDict):
    what: str
    rows: int
    bytes: int


class CacheInfo(TypedDict):
    """`cache info`."""

    schema: Literal["layline.cache/1"]
    folder: str
    bytes: int
    bytes_on_disk: int
    limit_bytes: int
    contents: list[Kept]


class CacheClear(TypedDict):
    """`cache clear`."""

    schema: Literal["layline.cache-clear/1"]
    folder: str
    freed_bytes: int


class Skill(TypedDict):
    name: str
    description: str


class Skills(TypedDict):
    """`skills list`."""

    schema: Literal["layline.skills/1"]
    skills: list[Skill]


class WrittenSkills(TypedDict):
    """`skills install`."""

    schema: Literal["layline.skills/1"]
    written: list[str]
    skills: list[str]
