"""What a line says, taken apart by rules, in Chinese and English: about whom, for or against, how much, about what."""
