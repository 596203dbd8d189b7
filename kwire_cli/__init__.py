"""kwire: an inspector of the Apache Kafka wire protocol."""
