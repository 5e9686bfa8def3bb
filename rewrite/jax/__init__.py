"""JAX: functions whose jaxprs are optimized and are jaxprs again.

```python
import rewrite.jax

step = rewrite.jax.jit(loss)                    # as jax.jit
slopes = rewrite.jax.jit(jax.grad(loss))        # the whole derivative is optimized
print(rewrite.jax.explain(loss, w, x))          # what became of it, and why
```
"""

from .explaining import Explanation, explain
from .wrapped import jit

__all__ = ["Explanation", "explain", "jit"]
