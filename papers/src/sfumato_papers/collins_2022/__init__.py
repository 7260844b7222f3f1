"""Collins, Bhatt and Weller 2022: soft labels from every annotator (CIFAR-10S), run again."""
