"""The folder of a measuring run is gone however the run ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from layline.campaign.measure.build import NotBuilt

HOLD = (
    "import time\nfrom layline.campaign.measure.build import workshop\n"
    "with workshop() as shop:\n    (shop / 'x').write_text('')\n    print(shop, flush=True)\n    time.sleep(60)\n"
)


def test_it_is_gone_when_the_process_is_asked_to_end() -> None:
    with subprocess.Popen((sys.executable, "-c", HOLD), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shop = Path(process.stdout.readline().strip())
        assert shop.is_dir()
        process.terminate()
        assert process.wait(20) == 128 + signal.SIGTERM
    assert not shop.exists()


def test_what_the_compiler_says_is_told_by_its_first_error() -> None:
    said = "k.c: In function 'gemm':\nk.c:3:5: error: expected ';'\n    3 |   }\n      |   ^~~~~"
    assert NotBuilt(reason=said).error == "expected ';'"
    assert NotBuilt(reason="the compiler did not finish within 5 s").error == "the compiler did not finish within 5 s"
    assert NotBuilt(reason="").error == ""
