"""Datasets on disk: TFRecord files of tf.train.Example messages and a label map. TensorFlow is not needed."""
