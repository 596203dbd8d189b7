"""Rule books for definitions: Kafka's generator, KIP-482, its earlier draft and KAFKA-9927. docs/rules.md lists every
rule.
"""

from kwire_cli.spec.rules.book import check, check_folder, check_many

__all__ = ["check", "check_folder", "check_many"]
