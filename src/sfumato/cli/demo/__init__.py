"""`sfumato demo`: the whole workflow on handwritten digits, with real images and simulated annotators."""
