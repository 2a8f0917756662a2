"""`wisp acp`: the Agent Client Protocol, version 1, over standard input and output."""
