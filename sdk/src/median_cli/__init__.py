"""`median`, the command line of a Median installation. It speaks to the REST API with a key and nothing else."""
