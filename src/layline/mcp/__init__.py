"""The door for agents: the app functions as MCP tools, over stdio."""
