"""What the first bytes of a checkpoint say: exact types, shapes and bytes."""
