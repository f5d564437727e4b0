"""ShoppingX in containers on this machine: docker-compose.yml with development secrets."""
