"""What tests share: the servers they run against and the processes they start."""
