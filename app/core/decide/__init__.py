"""Options: which cards and plans, at what price and speed, which are best, and what is said of them."""
