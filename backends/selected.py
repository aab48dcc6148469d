"""The backend that programs are staged with. The runtime knows it by its protocols alone."""

from __future__ import annotations

from autograph.backends.base import Data, Staging
from autograph.backends.xla.data import XlaData
from autograph.backends.xla.staging import XlaStaging

STAGING: Staging = XlaStaging()
"""How programs are recorded."""

DATA: Data = XlaData()
"""How the arrays of datasets are read."""
