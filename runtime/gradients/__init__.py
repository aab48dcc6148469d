"""Derivatives: `grad`, `value_and_grad`, `GradientTape`, custom derivatives, optimizers."""
