"""`wisp rpc`: the host for other programs, over standard input and output."""
