"""Who speaks to the brokers, in which versions, and which of these a release of Kafka will refuse."""
