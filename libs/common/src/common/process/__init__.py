"""What every process does around its work: it beats, tells its health, and ends in time with an honest exit code."""
