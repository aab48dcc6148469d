"""What is done to staged statements so that XLA makes better code of them."""
