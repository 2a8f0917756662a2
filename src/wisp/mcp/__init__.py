"""Tools of other programs, by the Model Context Protocol: a client that trusts no server.

Knows nothing of settings, of who allows a call, or of how a process or a connection is opened.
"""
