"""Orders as the model sees them: it proposes cards and looks them up; only the user confirms or cancels."""
