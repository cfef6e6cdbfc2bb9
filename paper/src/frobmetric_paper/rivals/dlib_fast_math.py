"""dlib with -ffast-math, which nobody ships: it lets g++ vectorise dlib's sums of products."""

from .dlib import FLAGS, compiled_by

RIVAL = compiled_by("dlib_fast_math", (*FLAGS, "-ffast-math"))
