"""Pure calculations: no I/O, no clock, no framework."""
