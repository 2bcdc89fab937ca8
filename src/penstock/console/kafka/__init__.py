"""What the pages ask of a cluster, each in as few requests as it takes."""
