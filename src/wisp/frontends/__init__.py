"""The ways to talk to the host, each apart from the others.

A front end shows the view and sends commands; it decides nothing about policy or history.
"""
