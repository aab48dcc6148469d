"""`Observer`: what a journal tells of the blocks of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Observer(Protocol):
    """What else is known of the trace. A journal tells it of the blocks: of those that begin after it is made where they begin, too."""

    def enter(self) -> Any:
        """What is known when a block begins."""

    def leave(self, before: Any) -> None:
        """Forget what a block has made known, of which this was known when it began; None: nothing was."""

    def take_elements(self, before: Any) -> list[Any]:
        """Take back what a path has made elements of lists, for `give_elements`."""

    def give_elements(self, given: Iterable[Any]) -> None:
        """Note again what a path has made elements of lists."""

    def check_unreported(self) -> None:
        """Refuse writes that were not reported."""

    def refresh(self) -> None:
        """Take what the containers hold now for what they are to hold."""
