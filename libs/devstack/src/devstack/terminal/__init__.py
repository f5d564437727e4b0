"""What a person sees in the terminal, the same in the chat and in the demo."""
