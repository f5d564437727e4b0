"""The tools the model may call. One file each; `registry.py` says which there are."""
