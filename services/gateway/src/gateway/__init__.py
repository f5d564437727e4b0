"""The public edge of ShoppingX: HTTP and server-sent events, tokens and limits. It keeps no state of its own."""
