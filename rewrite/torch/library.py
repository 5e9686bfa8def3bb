"""PyTorch, untyped: the project checks its types with and without it installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
aot_common: Any = import_module("torch._dynamo.backends.common")
aot_autograd: Any = import_module("torch._functorch.aot_autograd")
decompositions: Any = import_module("torch._decomp")
export: Any = import_module("torch.export")
guards: Any = import_module("torch._guards")
partitioners: Any = import_module("torch._functorch.partitioners")
# Within it tensors are real, also where a graph is being traced.
unset_fake: Any = import_module("torch._subclasses.fake_tensor").unset_fake_temporarily

type Tensor = Any
type FxNode = Any
type GraphModule = Any
