"""Why two graphs are equal: journal, proof, and an independent checker."""
