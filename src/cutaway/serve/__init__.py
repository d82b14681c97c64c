"""HTTP: the page and the API of recorded runs.

Nothing is imported here, so that a run can bind a port for its page without loading a server.
"""
