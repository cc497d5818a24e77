"""The one rule for tests, vendored and example paths."""

from __future__ import annotations

import pytest

from layline.core.ours import Role, find_role, is_own, is_packaged, is_test_module

ROLES = [
    ("harbor/core/trainer.py", Role.OWN),
    ("setup.py", Role.OWN),
    ("harbor/testing/util.py", Role.OWN),
    ("harbor/latest/attest.py", Role.OWN),
    ("harbor/tools/convert.py", Role.OWN),
    ("harbor/tools/gpu_sniff_test.py", Role.OWN),
    ("src/harbor/a.py", Role.OWN),
    ("README.md", Role.OWN),
    ("tests/test_a.py", Role.TEST),
    ("harbor/tests/util.py", Role.TEST),
    ("harbor/core/test_trainer.py", Role.TEST),
    ("harbor/core/conftest.py", Role.TEST),
    ("unit_tests/a.py", Role.TEST),
    ("tests_extend/a.py", Role.TEST),
    ("test/a.py", Role.TEST),
    ("ut/a.py", Role.TEST),
    ("third_party/keel/keel/a.py", Role.VENDORED),
    ("harbor/vendor/a.py", Role.VENDORED),
    ("3rdparty/a.cpp", Role.VENDORED),
    ("third_party/keel/tests/test_a.py", Role.VENDORED),
    ("examples/train.py", Role.EXAMPLE),
    ("harbor/demo/train.py", Role.EXAMPLE),
    ("docs/conf.py", Role.DOCUMENT),
    ("benchmark/speed.py", Role.BENCHMARK),
    ("tools/build.py", Role.TOOL),
    ("scripts/build.py", Role.TOOL),
]


@pytest.mark.parametrize(("path", "role"), ROLES, ids=[path for path, _ in ROLES])
def test_what_stands_at_a_path(path: str, role: Role) -> None:
    assert find_role(path) is role
    assert is_own(path) is (role in {Role.OWN, Role.TOOL})
    assert is_packaged(path) is (role is Role.OWN)


@pytest.mark.parametrize(
    ("name", "is_it"),
    [
        ("keel.core.tests.util", True),
        ("tests.unit", True),
        ("keel.test_utils", True),
        ("keel.core.tests", True),
        ("tests", True),
        ("examples.test_run", True),
        ("keel.gpu_sniff_test", False),
        ("keel.testing.util", False),
        ("keel.core", False),
        ("keel.latest", False),
    ],
)
def test_modules_of_tests(name: str, is_it: bool) -> None:
    assert is_test_module(name) is is_it
