"""Static guides for shoppers. They belong to nobody, never expire, and are kept apart from memory in every way."""
