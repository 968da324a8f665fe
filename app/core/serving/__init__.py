"""One model of a serving engine: memory to sequences held, steps and prompts to waits and rates."""
