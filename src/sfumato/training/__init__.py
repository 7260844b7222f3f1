"""SoftLabels and Beliefs -> models, and what they predict. The only folder that knows torch.

A `TrainingSet` is what is known of the items to be learnt from; a target makes `Labels` of it; a network learns them by
a `Recipe`. Networks that differ in nothing but their target are trained side by side, as one wide model.
"""
