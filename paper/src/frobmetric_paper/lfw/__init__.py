"""Face verification on Labeled Faces in the Wild."""
