"""The conversation in this process: a lawful transcript across runs, approvals, queues, cancelling.

Knows nothing of disks or screens.
"""
