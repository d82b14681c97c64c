"""The command line: one file a verb, thin; heavy imports happen inside the verbs."""
