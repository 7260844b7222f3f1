"""Training models on soft labels. The only package that imports torch.

A `TrainingSet` holds items, images and label sources; a target computes labels from it; a `Grid` of targets, networks
and seeds is trained with a `Recipe`. Runs that differ only in their target are trained together as one wide network.
"""
