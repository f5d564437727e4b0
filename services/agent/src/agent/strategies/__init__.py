"""Strategies: what has worked for a certain kind of request, said to the model in the turn whose words ask for it."""
