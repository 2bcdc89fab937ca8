"""The benchmark behind `penstock bench`. It is part of the source tree and not of the wheel."""
