"""The tests of redzone; the tree mirrors the source."""
