"""Kafka's request log (logger `kafka.request.logger`, JSON since 2.8, KIP-673): exchanges as a broker saw them, without
their bytes.
"""
