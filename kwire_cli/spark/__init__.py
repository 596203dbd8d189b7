"""Spark: reports and lakes of what captures and logs hold. The only place that imports pyspark."""
