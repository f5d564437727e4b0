"""Whether this process lives, and whether it should get traffic."""
