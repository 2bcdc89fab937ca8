"""What must hold, each in a checker of its own. They outlive crashes: what they know is kept outside all nodes."""
