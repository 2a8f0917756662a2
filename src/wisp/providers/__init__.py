"""One request to a model, as a lawful stream of events that ends.

Knows wire formats and networks; knows nothing of what tools mean or of history beyond the request.
"""
