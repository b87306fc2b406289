"""Why a walk over the frames of a TCP stream stopped: for kernels and their callers."""

SHORT = 0  # the bytes end
LOST = 1  # what follows is no frame
FULL = 2  # no room left in the output
