"""Shipped for tests: a real local model server, and cases every provider must pass.

Imported by nothing in the product.
"""
