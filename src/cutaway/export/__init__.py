"""A model folder → the folders and files of other packages; none of them changes the model."""
