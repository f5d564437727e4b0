"""P_t: what the user said about this purchase. It lives as long as the session and has one writer, the planner."""
