"""Sets up what they need: `python -m frobmetric_paper.sdp_rivals.setup [name ...]`.

Fetches Debian's csdp and sdpa into the folder of `frobmetric_paper.rivals.cache`; nothing
else on the machine changes.
"""

import sys

from ..rivals.setup import main
from . import SDP_RIVALS

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], SDP_RIVALS))
