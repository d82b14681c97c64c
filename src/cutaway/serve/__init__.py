"""HTTP: the page and the glass box behind it.

Nothing is imported here, so that a run can bind a port for its page without loading a server.
"""
