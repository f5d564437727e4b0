"""How much of what is sent a provider's prefix cache has already read: `make bench-cache`."""
