"""Writes `penstock.protocol.messages` from message definitions in Kafka's JSON form.

The stages: `definitions` reads the JSON into the `model`; `layout` finds out which versions of a struct look the
same on the wire; `classes`, `readers` and `writers` turn those into Python; `modules` puts a module together and
`tables` writes the indexes over all of them.
"""
