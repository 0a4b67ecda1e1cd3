VERSION: str
"""Of this package."""
TORCH_VERSION: str
"""Of the torch that _C was compiled against."""
