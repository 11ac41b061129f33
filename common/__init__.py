"""What the chapters import and readers install: small models, export helpers, tables and figures of torch.fx graphs.

Importing this package is cheap: it does not import torch.
"""
