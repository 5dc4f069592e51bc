"""Datasets on disk: TFRecord files of tf.train.Example messages and a label map, made and read without TensorFlow."""
