"""What a person with several devices writes, a file by topic. Importing this registers all programs."""

from tests.scale.programs import arrays, data, effects, explicit_axes, gradients, manual, strangers  # noqa: F401
