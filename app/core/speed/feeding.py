"""Whether the host can bring the data: the copy over PCIe, as a limit only where arithmetic shows one."""

from __future__ import annotations

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import Floats, GpuTable
from app.core.speed import constants as c
from app.core.tracing import floats
from app.core.units import GB, Number

register(
    Formula(
        "speed.feeding",
        "Input copy limit",
        "t >= images x pixels x 3 B / PCIe one way",
        "s",
        "exact",
        "uint8 images; decoding on the host is not a property of the card and is not assumed.",
        (Reference("PCIe rates of one direction", "https://gigagpu.com/pcie-gen4-vs-gen5-ai-inference/"),),
    )
)


def copy_limit_s(cards: GpuTable, images: Number, pixels: Number) -> Floats:
    """Seconds to copy the images of one step to one card.

    Notes
    -----
    ResNet-50 at 1761 img/s of 224 x 224 uint8 needs 0.27 GB/s: PCIe 3.0 x16 is no limit.
    """
    return floats(np.multiply(images, pixels) * c.BYTES_PER_PIXEL / (cards.copy_gb_s * GB))


def copy_gb_s(images_per_s: Number, pixels: Number, bytes_per_pixel: float = c.BYTES_PER_PIXEL) -> Number:
    """GB/s that a rate of images needs on the bus."""
    return np.multiply(images_per_s, pixels) * bytes_per_pixel / GB
