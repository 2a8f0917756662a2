"""Conversations in the formats of other programs.  Pure: bytes and values in, bytes and values out."""
