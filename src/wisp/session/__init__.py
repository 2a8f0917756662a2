"""The conversation across processes: what was accepted is durable; it is replayed, mended and continued.

Knows nothing of who is watching.
"""
