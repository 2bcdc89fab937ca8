"""The JSON API of the pages. Each module has `ROUTES`: method, path below `api/`, handler."""
