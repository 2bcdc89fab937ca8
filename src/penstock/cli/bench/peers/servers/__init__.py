"""How each product is started on loopback, one module each, and what of it this machine lacks."""
