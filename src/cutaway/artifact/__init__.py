"""A model on disk: its folder, manifest and snapshots, each written whole or not at all."""
