"""What a broker counts while it works, and how a scrape reads it."""
