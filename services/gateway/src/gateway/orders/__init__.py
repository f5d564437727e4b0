"""Orders: cards that the assistant proposed, and the user's answer."""
