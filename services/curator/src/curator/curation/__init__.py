"""The life of a curation in this process: claim, ask the model, hand the candidates to memory."""
