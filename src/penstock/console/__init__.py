"""The web console: an aiohttp part that serves hand-written pages and the JSON they ask for.

It is an ordinary Kafka client that uses the credentials of the user who is logged in, so that ACLs apply as for any
other client. `app.routes` mounts it, on the admin port of a broker or in a process of its own (`penstock console`).

    static/     the pages: HTML, CSS and ES modules, served as they are
    api/        one module for each page: its JSON endpoints
    kafka/      requests that several of them share
"""
