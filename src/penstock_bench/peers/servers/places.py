"""Where `tools/setup_peers.py` puts what Debian does not have: `.peers`, beside the virtual environment."""

import os
import sys

PEERS = os.path.join(os.path.dirname(sys.prefix), ".peers")
