"""Whether a described effect is allowed, must be asked about, or is denied.  Pure.

Knows nothing of how to ask or how to run.
"""
