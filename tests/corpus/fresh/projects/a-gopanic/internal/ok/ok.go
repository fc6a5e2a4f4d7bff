package ok
