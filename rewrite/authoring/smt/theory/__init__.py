"""Normal forms and theories in which elements are compared."""
