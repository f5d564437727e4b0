"""The planner: a side call that reads this turn's words into a plan, before the main model acts."""
