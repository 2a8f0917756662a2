"""Tools: each does one named thing in the workspace and reports it.

Knows nothing of who approved a call or what comes next.
"""
