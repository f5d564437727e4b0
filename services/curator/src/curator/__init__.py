"""The curator service: reads what a user said in a finished turn and proposes what stays true across sessions."""
