"""Verification that a partition's folder is as a broker would have left it.

`verify_partition` names each fault in the folder.
"""

from kwire_cli.analysis.verify.checks import FAULTS, Checked, Fault
from kwire_cli.analysis.verify.partition import (
    parts_to_verify,
    verification,
    verify_file,
    verify_part,
    verify_partition,
    verify_path,
)

__all__ = [
    "FAULTS",
    "Checked",
    "Fault",
    "parts_to_verify",
    "verification",
    "verify_file",
    "verify_part",
    "verify_partition",
    "verify_path",
]
