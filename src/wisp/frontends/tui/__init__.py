"""The full-screen terminal interface: draws a conversation, takes keys; decides nothing about it."""
