"""Reading the driver's list of processes, from a library with the driver's own interface."""

from __future__ import annotations

import subprocess

import pytest

from layline.campaign.devices.gpu_company import Driver, find_others
from layline.campaign.values.company import Other

LIBRARY = """
#include <string.h>
typedef struct {unsigned pid; unsigned long long memory; unsigned a, b;} process;
typedef struct {unsigned pid; unsigned long long at; unsigned sm, mem, enc, dec;} sample;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByUUID(const char *name, void **device) { return strcmp(name, "GPU-1") ? 6 : 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process *found) {
  found[0] = (process){100, 3ull << 30, 0, 0};
  found[1] = (process){4242, ~0ull, 0, 0};
  *count = 2;
  return 0;
}
int nvmlDeviceGetProcessUtilization(void *device, sample *found, unsigned *count, unsigned long long since) {
  if (since > 900) return 6;
  if (since == 7) return 3;
  found[0] = (sample){4242, 800, 12, 0, 0, 0};
  found[1] = (sample){4242, 850, 64, 0, 0, 0};
  found[2] = (sample){100, 850, 30, 0, 0, 0};
  *count = 3;
  return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("driver")
    (folder / "nvml.c").write_text(LIBRARY)
    subprocess.run(("cc", "-shared", "-fPIC", "-o", folder / "nvml.so", folder / "nvml.c"), check=True)
    return str(folder / "nvml.so")


def test_processes_and_what_they_computed_are_read(library: str) -> None:
    driver = Driver(library, "GPU-1")
    assert driver.list_processes() == {100: 3072, 4242: None}
    assert driver.read_busy(500) == {4242: 64, 100: 30}
    assert driver.read_busy(820) == {4242: 64, 100: 30}
    assert driver.read_busy(901) == {}
    assert driver.read_busy(7) is None


def test_a_library_that_is_not_there_or_knows_no_such_device_is_an_error(library: str) -> None:
    for name, uuid in ((library, "GPU-2"), ("libthat-is-not-there.so", "GPU-1")):
        with pytest.raises(OSError, match=r"GPU-2|not-there"):
            Driver(name, uuid)


@pytest.mark.parametrize(
    ("processes", "busy", "expected"),
    [
        ({1: 10, 2: 20}, {1: 99}, ()),
        ({1: 10, 9: 20}, {1: 99, 9: 5}, (Other(pid=9, mib=20, busy=5),)),
        ({1: 10, 9: 20}, {1: 99}, (Other(pid=9, mib=20, busy=0),)),
        ({1: 10, 9: None}, None, (Other(pid=9, mib=None, busy=None),)),
        ({1: 10}, {9: 40, 8: 0}, (Other(pid=9, mib=None, busy=40),)),  # worked, and has gone
    ],
)
def test_others_are_those_that_are_not_ours(
    processes: dict[int, int | None], busy: dict[int, int] | None, expected: tuple[Other, ...]
) -> None:
    assert find_others(processes, busy, {1, 2}) == expected
