"""The life of a turn in this process: claim, keep the lease, run the loop, finish or hand back."""
