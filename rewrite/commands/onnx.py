"""`rewrite optimize IN.onnx OUT.onnx`: files in, files out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from ..onnx.model import open_model
from ..onnx.write.optimize import Optimized, optimize


def run_command(
    file: Path, output: Path, page: Path | None, **options: Any
) -> Optimized:
    """The model at `file` to `output`, and a page on both; warnings come as notes."""
    source = open_model(file)  # before `output`, which may be the same file, is written
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = optimize(source, output, **options)
    if page is not None:
        from rewrite.report.models import models_html

        level, rules = options["precision"], options["rules"]
        text = models_html(source, result.model, result, output.name, level, rules)
        page.write_text(text, encoding="utf-8")
    return result
