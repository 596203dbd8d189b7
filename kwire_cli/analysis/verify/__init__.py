"""Verification that a partition's folder is as a broker would have left it.

`verify_partition` names each fault in the folder.
"""

from kwire_cli.analysis.verify.checks import FAULTS, Checked, Fault
from kwire_cli.analysis.verify.partition import verify_file, verify_part, verify_partition
from kwire_cli.analysis.verify.verification import Part, Verification, parts_to_verify, verify_path

__all__ = [
    "FAULTS",
    "Checked",
    "Fault",
    "Part",
    "Verification",
    "parts_to_verify",
    "verify_file",
    "verify_part",
    "verify_partition",
    "verify_path",
]
