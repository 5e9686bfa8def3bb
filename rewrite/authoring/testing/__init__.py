"""Examples run, instances drawn, both sides judged: `tester.py` leads."""

from .tester import (
    Report,
    RuleReport,
    Source,
    asked,
    broken,
    rules_of,
    test_rules,
    unread,
)

__all__ = [
    "Report", "RuleReport", "Source", "asked", "broken", "rules_of", "test_rules",
    "unread",
]  # fmt: skip
