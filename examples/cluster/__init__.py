"""Three brokers that are one cluster, one of which dies and comes back."""
