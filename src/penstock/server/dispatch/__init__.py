"""From a frame to the handler of its API and back."""
