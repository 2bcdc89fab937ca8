"""TLS: keys and certificates of the settings, contexts made of them, and who a certificate names."""
