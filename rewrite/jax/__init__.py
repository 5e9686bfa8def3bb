"""JAX: functions whose jaxprs are optimized and are jaxprs again.

```python
import rewrite.jax

step = rewrite.jax.jit(loss)                    # as jax.jit
slopes = rewrite.jax.jit(jax.grad(loss))        # the whole derivative is optimized
print(rewrite.jax.explain(loss, w, x))          # what became of it, and why
```
"""

try:
    import jax as _jax  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as _e:
    raise ImportError(
        f"the front end of JAX needs it ({_e}): pip install 'rewrite[jax]'"
    ) from None

from .explaining import Explanation, explain
from .wrapped import jit

__all__ = ["Explanation", "explain", "jit"]
