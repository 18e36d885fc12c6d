"""Golden vectors: in, recorded inputs of production; out, what our stages make of them."""
