"""Export with a dynamic batch, the error measure, and what `quiet` silences."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet, sqnr


class TwoInputs(nn.Module):
    def forward(self, x: torch.Tensor, pair: tuple[torch.Tensor, torch.Tensor], k: torch.Tensor) -> torch.Tensor:
        return x + pair[0] * k + pair[1]


def test_the_batch_is_dynamic():
    model = get_model("conv_bn_relu").eval()
    module = export_module(model, example_inputs(4))
    with torch.no_grad():
        for batch in (1, 2, 7):
            x = example_inputs(batch)
            assert torch.equal(module(*x), model(*x))
    with pytest.raises(AssertionError, match="Guard failed"):
        module(torch.randn(4, 3, 8, 16))


def test_every_tensor_input_is_dynamic_but_a_scalar_tensor():
    x, y, z = (torch.randn(4, 3) for _ in range(3))
    module = export_module(TwoInputs().eval(), (x, (y, z), torch.tensor(2.0)))
    a, b, c = (torch.randn(6, 3) for _ in range(3))
    assert torch.equal(module(a, (b, c), torch.tensor(2.0)), a + b * 2.0 + c)


@pytest.mark.parametrize("batch", [0, 1])
def test_a_batch_that_would_become_static_is_refused(batch):
    with pytest.raises(ValueError, match=rf"the example batch is {batch}, but .* use an example batch of 2 or more"):
        export_module(get_model("conv_relu"), example_inputs(batch))


def test_bad_inputs_are_explained():
    with pytest.raises(TypeError, match=r"inputs must be a tuple such as \(x,\), got Tensor"):
        export_module(get_model("conv_relu"), example_inputs()[0])
    with pytest.raises(ValueError, match="all inputs need the same batch size, got 2, 3"):
        export_module(TwoInputs(), (torch.ones(2, 3), (torch.ones(3, 3), torch.ones(2, 3)), torch.ones(())))
    with pytest.raises(ValueError, match="no tensor with a batch dimension"):
        export_module(get_model("conv_relu"), (3, torch.tensor(1.0)))


def test_sqnr():
    reference = torch.tensor([3.0, 4.0])
    assert sqnr(reference, reference + torch.tensor([0.0, 0.5])) == pytest.approx(20.0)
    assert sqnr(reference, torch.zeros(2)) == 0.0
    assert sqnr(reference, reference) == float("inf")
    with pytest.raises(ValueError, match=r"shapes differ, \[2\] and \[3\]"):
        sqnr(reference, torch.zeros(3))


@pytest.mark.parametrize(
    ("logger", "noise"),
    [
        ("torchao", "Failed to load /somewhere/_C_mxfp8.so: no such library"),
        (
            "torchao.kernel.intmm",
            "Warning: Detected no triton, on systems without Triton certain kernels",
        ),
        ("torch.utils._pytree", "<enum 'KernelPreference'> is an Enum subclass and is now natively supported"),
    ],
)
def test_quiet_drops_the_noise_of_a_logger_and_nothing_else(logger, noise, caplog):
    quiet()
    quiet()
    with caplog.at_level(logging.WARNING):
        logging.getLogger(logger).warning(noise)
        logging.getLogger(logger).warning("something else")
        logging.getLogger("torch._export").warning(noise)
    assert [record.message for record in caplog.records] == ["something else", noise]


def test_quiet_drops_the_known_warnings_and_nothing_else():
    noise = [
        ("`torch.jit.script_method` is deprecated. Please switch to `torch.compile`.", DeprecationWarning),
        ("XNNPACKQuantizer is deprecated!", UserWarning),
        ("`isinstance(treespec, LeafSpec)` is deprecated, use `isinstance(treespec, TreeSpec)`", FutureWarning),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quiet()
        for text, category in noise:
            warnings.warn(text, category, stacklevel=1)
        warnings.warn("must run observer before calling calculate_qparams", UserWarning, stacklevel=1)
        warnings.warn("another deprecation", DeprecationWarning, stacklevel=1)
    assert [str(w.message) for w in caught] == [
        "must run observer before calling calculate_qparams",
        "another deprecation",
    ]


def test_a_quiet_run_says_only_what_matters():
    """The real thing in a process of its own: a model converted without calibration, and a batch made static."""
    script = """
import torch
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
quiet()
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
convert_pt2e(prepare_pt2e(export_module(get_model("conv_bn_relu").eval(), example_inputs()), quantizer))
torch.export.export(get_model("conv_relu"), example_inputs(1), dynamic_shapes=({0: torch.export.Dim.AUTO},))
with torch.profiler.profile():
    torch.ones(1)
"""
    # Python says this once, when it first compiles a file of torchao's
    options = ["-W", "always", "-W", "ignore:invalid escape sequence"]
    run = subprocess.run([sys.executable, *options, "-c", script], capture_output=True, text=True, check=True)
    lines = [line for line in run.stderr.splitlines() if not line.startswith("  ")]
    matters = ("must run observer before calling calculate_qparams", "0/1 specialized")
    assert run.stdout == ""
    assert all(any(part in line for part in matters) for line in lines), run.stderr
    assert all(any(part in line for line in lines) for part in matters), run.stderr
