"""Summaries for TensorBoard, as in ``tf.summary``."""
