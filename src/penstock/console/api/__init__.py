"""What the pages ask for. Each module has `ROUTES`: method, path below `api/`, handler."""
