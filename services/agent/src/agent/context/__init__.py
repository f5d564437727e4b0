"""What the model sees (design section 5): pure functions from stored data to exact texts. Same data, same bytes."""
