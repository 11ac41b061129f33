"""`make bench`: how long this build takes, beside three other ways to the same site, in one run on one machine."""
