"""One run: ask the model, run what it calls, ask again, until there is a reason to stop.

Knows nothing of where history comes from or goes, of concrete tools, providers or people.
"""
