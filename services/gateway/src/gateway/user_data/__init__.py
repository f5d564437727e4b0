"""Settings and favourites."""
