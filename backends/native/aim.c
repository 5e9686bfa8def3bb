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

/* NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED; NPY_ARRAY_WRITEABLE */
enum { IN_ORDER = 0x101, WRITEABLE = 0x400 };

typedef struct {
  const void *descr;
  const intptr_t *shape;
  const int64_t *spots; /* where in the table the address goes */
  int64_t nd, count;    /* axes, spots */
  int64_t itemsize;
  int64_t written;      /* whether kernels write to it */
} rw_port;

typedef struct {
  void **table;
  const rw_port *ports;
  int64_t count;
  const void *kind;                 /* numpy.ndarray */
  void *(*item)(void *, intptr_t); /* of a tuple; it stays the tuple's */
  int64_t head;                     /* bytes of an object before its type */
} rw_arrays;

static const rw_array *array_at(const rw_arrays *expected, void *tuple, int64_t i) {
  const char *object = expected->item(tuple, i);
  return object ? (const rw_array *)(object + expected->head) : 0;
}

static int64_t bytes_of(const rw_port *port) {
  int64_t n = port->itemsize;
  for (int64_t k = 0; k < port->nd; k++) n *= port->shape[k];
  return n;
}

/* Whether nothing else of the call lies where the array at `i` does. */
static int lies_alone(const rw_arrays *expected, void *tuple, int64_t i) {
  const char *data = array_at(expected, tuple, i)->data;
  const int64_t bytes = bytes_of(expected->ports + i);
  for (int64_t j = 0; j < expected->count; j++) {
    const char *other = array_at(expected, tuple, j)->data;
    if (j != i && other < data + bytes && data < other + bytes_of(expected->ports + j))
      return 0;
  }
  return 1;
}

/* Whether each of the tuple's arrays is as its port says and lies in order in memory,
   alone where it is written; those before the first that is not have been aimed at. */
int rw_aim(const rw_arrays *expected, void *tuple) {
  for (int64_t i = 0; i < expected->count; i++) {
    const rw_port *port = expected->ports + i;
    const rw_array *a = array_at(expected, tuple, i);
    if (!a) return 0; /* no such place, or no tuple: the interpreter raises */
    if (a->kind != expected->kind || a->descr != port->descr || a->nd != port->nd)
      return 0;
    const int flags = port->written ? IN_ORDER | WRITEABLE : IN_ORDER;
    if ((a->flags & flags) != flags) return 0;
    for (int k = 0; k < a->nd; k++)
      if (a->shape[k] != port->shape[k]) return 0;
    for (int64_t k = 0; k < port->count; k++)
      expected->table[port->spots[k]] = a->data;
  }
  for (int64_t i = 0; i < expected->count; i++)
    if (expected->ports[i].written && !lies_alone(expected, tuple, i)) return 0;
  return 1;
}
