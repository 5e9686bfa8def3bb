/* Aims launches at the arrays of a call: all that a call looks at before its kernels run,
   in one foreign call, since a small kernel takes less time than ten of Python's. */

#include <stdint.h>

/* What NumPy's C interface tells of an array (PyArrayObject_fields), from its type on. */
typedef struct {
  const void *kind;
  void *data;
  int nd;
  const intptr_t *shape, *strides;
  const void *base, *descr;
  int flags;
} rw_array;

enum { IN_ORDER = 0x101 }; /* NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED */

typedef struct {
  const void *descr;
  const intptr_t *shape;
  const int64_t *spots; /* where in the table the address goes */
  int64_t nd, count;    /* axes, spots */
} rw_port;

typedef struct {
  void **table;
  const rw_port *ports;
  int64_t count;
  const void *kind;                 /* numpy.ndarray */
  void *(*item)(void *, intptr_t); /* of a tuple; it stays the tuple's */
  int64_t head;                     /* bytes of an object before its type */
} rw_arrays;

/* Whether each of the tuple's arrays is as its port says and lies in order in memory;
   those before the first that is not have been aimed at. */
int rw_aim(const rw_arrays *expected, void *tuple) {
  for (int64_t i = 0; i < expected->count; i++) {
    const rw_port *port = expected->ports + i;
    const char *object = expected->item(tuple, i);
    if (!object) return 0; /* no such place, or no tuple: the interpreter raises */
    const rw_array *a = (const rw_array *)(object + expected->head);
    if (a->kind != expected->kind || a->descr != port->descr || a->nd != port->nd)
      return 0;
    if ((a->flags & IN_ORDER) != IN_ORDER) return 0;
    for (int k = 0; k < a->nd; k++)
      if (a->shape[k] != port->shape[k]) return 0;
    for (int64_t k = 0; k < port->count; k++)
      expected->table[port->spots[k]] = a->data;
  }
  return 1;
}
