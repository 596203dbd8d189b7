"""Groups: what goes on in consumer, share and streams groups, as a timeline of each."""
