"""`make demo`: the story of ShoppingX, told by the running system and checked while it is told."""
