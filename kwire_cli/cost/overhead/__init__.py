"""Where the bytes of captures, frames, record sets and log directories go: accounts by whom they belong to, limits, and what batching does."""
