"""The operating-system box around commands: what it is made of, and whether it works here.

Loaded at the first command or when somebody asks what works, never before.
"""
