"""Peterson, Battleday, Griffiths and Russakovsky (2019): CIFAR-10H, and networks that learn people's doubt."""
