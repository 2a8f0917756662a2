"""Exercises of the book: one judge module per chapter, and for each exercise a folder with its files."""
