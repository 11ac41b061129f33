"""The course's models and inputs: the same every time, and without a trace in the global random state."""

from __future__ import annotations

import pytest
import torch

from common.models import MODELS, example_inputs, get_model

OUTPUTS = {
    "conv_relu": (2, 8, 16, 16),
    "conv_bn_relu": (2, 8, 16, 16),
    "residual": (2, 3, 16, 16),
    "cnn": (2, 10),
}


def test_every_model_of_the_registry_is_known_here():
    assert MODELS.keys() == OUTPUTS.keys()


@pytest.mark.parametrize("name", OUTPUTS)
def test_takes_the_example_inputs(name):
    with torch.no_grad():
        output = get_model(name).eval()(*example_inputs())
    assert output.shape == OUTPUTS[name]
    assert output.abs().max() > 0


@pytest.mark.parametrize("name", OUTPUTS)
def test_is_the_same_every_time_and_leaves_the_random_state_alone(name):
    torch.manual_seed(123)
    before = torch.get_rng_state()
    first, second = get_model(name).state_dict(), get_model(name).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_has_the_layers_that_the_chapters_name():
    conv_relu, conv_bn_relu = get_model("conv_relu"), get_model("conv_bn_relu")
    assert (conv_relu.conv.bias is None, conv_bn_relu.conv.bias is None) == (False, True)
    assert {name for name, _ in conv_bn_relu.named_children()} == {"conv", "bn", "relu"}
    assert conv_bn_relu.training


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown model 'resnet'; known models: 'conv_relu', 'conv_bn_relu', 'res"):
        get_model("resnet")


def test_example_inputs():
    torch.manual_seed(123)
    before = torch.get_rng_state()
    (x,) = example_inputs()
    assert torch.equal(torch.get_rng_state(), before)
    assert (x.shape, x.dtype) == ((2, 3, 16, 16), torch.float32)
    assert torch.equal(x, example_inputs(2)[0])
    assert example_inputs(5)[0].shape == (5, 3, 16, 16)
