"""Configurations as users send them: written for COCO and a TPU, like those of the TF2 model zoo."""

from services.domain import catalogue, pipeline_config
from services.domain.pipeline_config import Config

# Fields that the catalogue's configurations lack. Two evaluation sets, as some users have.
_EXTRAS = """
train_config {
  fine_tune_checkpoint: "PATH_TO_BE_CONFIGURED/ckpt-0" fine_tune_checkpoint_type: "classification"
  sync_replicas: true startup_delay_steps: 0 replicas_to_aggregate: 8
}
train_input_reader {
  label_map_path: "PATH_TO_BE_CONFIGURED/label_map.txt"
  tf_record_input_reader { input_path: "PATH_TO_BE_CONFIGURED/train2017-?????-of-00256.tfrecord" }
}
eval_config { export_path: "/tmp/predictions" num_visualizations: 20 force_no_resize: true }
"""
_EVALUATION = """
eval_input_reader {
  label_map_path: "PATH_TO_BE_CONFIGURED/label_map.txt" shuffle: true num_epochs: 2
  tf_record_input_reader { input_path: "PATH_TO_BE_CONFIGURED/val2017-?????-of-00032.tfrecord" }
}
"""
MODELS = (
    "efficientdet_d0",
    "faster_rcnn_resnet50",
    "faster_rcnn_resnet50_fpn",
    "mask_rcnn_inception_resnet_v2",
)


def zoo_like(model: str, keep_aspect_ratio: tuple[int, int] | None = None) -> Config:
    """90 classes, 25,000 steps, a warm-up of 2,500, a checkpoint, paths, and switches for a TPU."""
    config = pipeline_config.build_config(catalogue.get(model), 90, None, 16, 25_000, 0.04)
    for reader in (config.train_input_reader, *config.eval_input_reader):
        reader.ClearField("max_number_of_boxes")
    evaluation = pipeline_config.parse(_EVALUATION).eval_input_reader[0]
    if config.eval_input_reader[0].load_instance_masks:
        evaluation.load_instance_masks, evaluation.mask_type = True, config.eval_input_reader[0].mask_type
    config.ClearField("eval_input_reader")
    config.eval_input_reader.extend([evaluation, evaluation])
    config.MergeFrom(pipeline_config.parse(_EXTRAS))
    optimizer = config.train_config.optimizer.momentum_optimizer.learning_rate
    optimizer.cosine_decay_learning_rate.warmup_steps = 2_500
    if keep_aspect_ratio:
        resizer = config.model.faster_rcnn.image_resizer.keep_aspect_ratio_resizer
        resizer.min_dimension, resizer.max_dimension = keep_aspect_ratio
        resizer.pad_to_max_dimension = True
    return config
