"""From a finished turn to proposed facts: the prompt, and the parsing of what the model makes of it."""
