"""SASL as a broker sees it: who may say that they are who. Nothing here knows of sockets or frames."""
