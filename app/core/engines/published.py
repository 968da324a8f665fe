"""Stacks of published measurements that no question can name, and what their rows tell of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One stack of published rows."""

    label: str
    words: tuple[str, ...]
    """Parts of a framework's text, lower case."""
    software: str
    """Age of the software whose speed it has: new, usual or old."""
    compiled: bool
    """It runs compiled graphs."""


STACKS: tuple[Stack, ...] = (
    Stack(label="vendor", words=("tensorrt", "vendor"), software="new", compiled=True),
    Stack(label="mlc-llm", words=("mlc-llm",), software="usual", compiled=False),
    Stack(label="exllamav2", words=("exllama",), software="usual", compiled=False),
    Stack(label="tensorflow-1", words=("tensorflow 1",), software="usual", compiled=False),
    # Old and unfused.
    Stack(label="web-ui", words=("a1111",), software="old", compiled=False),
    Stack(label="paddle-trt", words=("paddle-trt",), software="new", compiled=True),
    # Fused, channels-last kernels.
    Stack(label="paddle", words=("paddle",), software="new", compiled=False),
    Stack(label="mxnet", words=("mxnet",), software="new", compiled=False),
    Stack(label="caffe2", words=("caffe2",), software="usual", compiled=False),
)
BY_LABEL = {stack.label: stack for stack in STACKS}
