"""The model client (design section 8): one streaming call, its faults, its cost."""
