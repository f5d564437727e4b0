"""Skills: how to go about a kind of task, in SKILL.md files. The catalogue is resident, a body is read when needed."""
