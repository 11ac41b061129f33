"""Step 1 of a build: run the chapters and leave plain files. Step 2, rendering, only reads those."""
