"""Everything that is kept about a user: taken along, or erased."""
