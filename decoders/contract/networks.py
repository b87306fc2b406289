"""Which networks of a capture are read, where several use the same addresses."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Chosen:
    """Packets of some numbered networks, or of all but those (``others``); none named: all.

    Attributes:
        together: how many there are among the others that use the same addresses.
        tunnels: some network of the capture that is read by itself is a tunnel's, so a fragment
            outside of tunnels may be of any of them.
    """

    networks: tuple[int, ...] = ()
    others: bool = False
    together: int = 0
    tunnels: bool = False

    def takes(self, networks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether packets of a network are among them, one by one."""
        return np.isin(networks, self.networks, invert=self.others or not self.networks)


EVERYTHING: Final = Chosen()
