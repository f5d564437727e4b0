"""Redis Streams: names, the progress stream of a turn, and the consumer that keeps working when Redis forgets."""
