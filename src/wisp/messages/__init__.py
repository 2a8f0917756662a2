"""The vocabulary every other package speaks: content, messages, tools, usage, identifiers.

Knows nothing of providers, files, people or disks.
"""
