"""A run stops between steps."""

import os
import signal

import pytest

from train.shutdown import StopRequest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_only_sets_the_flag(number, capfd):
    former = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
        os.kill(os.getpid(), signal.SIGTERM)  # an impatient scheduler does not break the save
    assert signal.getsignal(number) == former
    assert capfd.readouterr().err.count("Stopping after this step") == 1


def test_the_second_ctrl_c_interrupts():
    former = signal.getsignal(signal.SIGINT)
    with StopRequest():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == former
