"""The whole path on handwritten digits: the images are real, the people who judge them are simulated."""
