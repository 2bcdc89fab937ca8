"""How each product is started on loopback, a module each, and whether it is installed."""

import os
import sys
from typing import Final

# `tools/setup_peers.py` puts what Debian does not have here, beside the virtual environment.
PEERS: Final = os.path.join(os.path.dirname(sys.prefix), ".peers")
