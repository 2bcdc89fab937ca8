"""The web console: an aiohttp part that serves hand-written pages and the JSON they ask for.

It is an ordinary client of the cluster: every answer comes through Kafka's protocol, asked with the credentials of the
user who is logged in, so that users and ACLs mean here what they mean everywhere. `app.routes` mounts it, on the admin
port of a broker or in a process of its own (`penstock console`).

    static/     the pages: HTML, CSS and ES modules, served as they are
    api/        one module for each page: what it asks for, as JSON
    kafka/      what several of them ask of a cluster
"""
