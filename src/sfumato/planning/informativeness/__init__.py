"""How much labels of each type tell about which items are alike: triplets, simulation and embedding."""
