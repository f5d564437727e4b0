"""What one user may ask for at once, and in which form."""
