"""Parameter scans: what scripts/scan.py is made of."""
