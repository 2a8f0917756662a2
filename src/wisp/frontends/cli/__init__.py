"""The command line: headless runs, plain chat, and the small commands around them."""
