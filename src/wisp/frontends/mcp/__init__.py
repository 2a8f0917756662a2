"""`wisp mcp serve`: a task tool for other agents, by MCP over standard input and output."""
