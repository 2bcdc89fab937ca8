"""The counters of a broker, and how a scrape reads them."""
