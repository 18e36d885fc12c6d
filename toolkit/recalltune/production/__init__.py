"""Production configs and behaviour. In: their files and golden vectors. Out: ours, and back."""
