"""The process: builds everything from settings; commands in, events out, one view.

Knows nothing of pixels, argument vectors or sockets.
"""
