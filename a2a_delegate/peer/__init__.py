"""One remote agent as an object: where it is, who may be told what, and how it is asked."""
