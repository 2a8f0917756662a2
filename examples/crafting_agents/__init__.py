"""The teaching agent: one loop, grown chapter by chapter, on the standard library alone."""
