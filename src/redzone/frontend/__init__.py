"""A program comes in, a jaxpr goes on: targets, examples, tracing, source locations, configuration."""
