"""The instruction blocks of a request: who the agent is, where it works, what the project asks.

Request-time data, never part of the history.  Knows nothing of models' wire formats.
"""
