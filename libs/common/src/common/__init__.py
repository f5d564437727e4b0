"""What two ShoppingX services must agree on. No business rule lives here."""
