-- A database of version 0.1.0: the schema and the rows of its SQLite file. README.md says how it was made.
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE devices (
	id VARCHAR(128) NOT NULL, 
	host VARCHAR(64) NOT NULL, 
	"key" VARCHAR(32) NOT NULL, 
	kind VARCHAR(8) NOT NULL, 
	"index" INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	total_bytes BIGINT NOT NULL, 
	free_bytes BIGINT NOT NULL, 
	bfloat16 BOOLEAN NOT NULL, 
	utilisation INTEGER, 
	temperature INTEGER, 
	processes JSON NOT NULL, 
	problem TEXT, 
	baseline_bytes BIGINT, 
	seen_at DATETIME NOT NULL, problem_since DATETIME, 
	CONSTRAINT pk_devices PRIMARY KEY (id)
);
CREATE INDEX ix_devices_host ON devices (host);
CREATE TABLE users (
	id INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	role VARCHAR(16) NOT NULL, 
	created_at DATETIME NOT NULL, password TEXT, disabled_at DATETIME, max_queued INTEGER, max_running INTEGER, device_hours_week FLOAT, version INTEGER DEFAULT '1' NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT uq_users_name UNIQUE (name)
);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	user_id INTEGER, 
	action VARCHAR(64) NOT NULL, 
	target VARCHAR(128) NOT NULL, 
	data JSON NOT NULL, kind VARCHAR(64) DEFAULT '' NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (id), 
	CONSTRAINT fk_audit_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE idempotency_keys (
	user_id INTEGER NOT NULL, 
	"key" VARCHAR(128) NOT NULL, 
	request_digest VARCHAR(64) NOT NULL, 
	status INTEGER NOT NULL, 
	location TEXT, 
	body JSON NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, "key"), 
	CONSTRAINT fk_idempotency_keys_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);
CREATE TABLE jobs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	owner_id INTEGER NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	notes TEXT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	reason TEXT, 
	stop VARCHAR(16), 
	priority INTEGER NOT NULL, 
	model VARCHAR(64) NOT NULL, 
	dataset VARCHAR(64) NOT NULL, 
	request JSON NOT NULL, 
	policy JSON NOT NULL, 
	base_config TEXT NOT NULL, 
	asked JSON NOT NULL, 
	"plan" JSON NOT NULL, 
	planned JSON NOT NULL, 
	min_memory_bytes BIGINT NOT NULL, 
	not_before DATETIME, 
	attempts INTEGER NOT NULL, 
	step BIGINT NOT NULL, 
	steps BIGINT NOT NULL, 
	version INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	queued_at DATETIME NOT NULL, 
	started_at DATETIME, 
	finished_at DATETIME, adjustments JSON, 
	CONSTRAINT fk_jobs_owner_id FOREIGN KEY(owner_id) REFERENCES users (id)
);
CREATE INDEX ix_jobs_owner_id_id ON jobs (owner_id, id);
CREATE TABLE tokens (
	id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	scopes JSON NOT NULL, 
	created_at DATETIME NOT NULL, 
	expires_at DATETIME, 
	last_used_at DATETIME, 
	revoked_at DATETIME, 
	CONSTRAINT pk_tokens PRIMARY KEY (id), 
	CONSTRAINT fk_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (id), 
	CONSTRAINT uq_tokens_digest UNIQUE (digest)
);
CREATE INDEX ix_tokens_user_id ON tokens (user_id);
CREATE TABLE attempts (
	job_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	"plan" JSON NOT NULL, 
	planned JSON NOT NULL, 
	config TEXT NOT NULL, 
	device_id VARCHAR(128) NOT NULL, 
	device_name TEXT NOT NULL, 
	limit_bytes BIGINT NOT NULL, 
	host VARCHAR(64) NOT NULL, 
	token VARCHAR(64) NOT NULL, 
	phase VARCHAR(32) NOT NULL, 
	step BIGINT NOT NULL, 
	step_s FLOAT, 
	saved_step BIGINT, 
	ingested BIGINT NOT NULL, 
	peak_bytes BIGINT, 
	outcome JSON, 
	reason VARCHAR(32), 
	diagnosis VARCHAR(32), 
	message TEXT, 
	exit_status INTEGER, 
	followed_by TEXT, 
	started_at DATETIME NOT NULL, 
	trainer_started_at DATETIME, 
	ended_at DATETIME, adjustments JSON, finding JSON, 
	CONSTRAINT pk_attempts PRIMARY KEY (job_id, number), 
	CONSTRAINT fk_attempts_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	job_id INTEGER NOT NULL, 
	attempt INTEGER, 
	kind VARCHAR(32) NOT NULL, 
	at DATETIME NOT NULL, 
	data JSON NOT NULL, 
	CONSTRAINT fk_events_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE INDEX ix_events_job_id_id ON events (job_id, id);
CREATE TABLE leases (
	device_id VARCHAR(128) NOT NULL, 
	job_id INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	token VARCHAR(64) NOT NULL, 
	host VARCHAR(64) NOT NULL, 
	boot_id VARCHAR(64) NOT NULL, 
	created_at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (device_id), 
	CONSTRAINT fk_leases_device_id FOREIGN KEY(device_id) REFERENCES devices (id), 
	CONSTRAINT fk_leases_job_id FOREIGN KEY(job_id) REFERENCES jobs (id), 
	CONSTRAINT uq_leases_job_id UNIQUE (job_id)
);
CREATE INDEX ix_leases_host ON leases (host);
CREATE TABLE measurements (
	id INTEGER NOT NULL, 
	job_id INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	model VARCHAR(64) NOT NULL, 
	precision VARCHAR(16) NOT NULL, 
	micro_batch INTEGER NOT NULL, 
	accumulation INTEGER NOT NULL, 
	height INTEGER NOT NULL, 
	width INTEGER NOT NULL, 
	proposals INTEGER, 
	second_stage_batch INTEGER, 
	device_kind VARCHAR(8) NOT NULL, 
	software VARCHAR(64) NOT NULL, 
	peak_bytes BIGINT NOT NULL, 
	evaluation_peak_bytes BIGINT, 
	host_peak_bytes BIGINT, 
	complete BOOLEAN NOT NULL, 
	created_at DATETIME NOT NULL, superseded_at DATETIME, brief BOOLEAN DEFAULT false NOT NULL, 
	CONSTRAINT pk_measurements PRIMARY KEY (id), 
	CONSTRAINT fk_measurements_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE metrics (
	job_id INTEGER NOT NULL, 
	name VARCHAR(96) NOT NULL, 
	attempt INTEGER NOT NULL, 
	step BIGINT NOT NULL, 
	value FLOAT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_metrics PRIMARY KEY (job_id, name, attempt, step), 
	CONSTRAINT fk_metrics_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
)
 WITHOUT ROWID

;
CREATE TABLE sessions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	user_id INTEGER NOT NULL, 
	token_id INTEGER, 
	digest VARCHAR(64) NOT NULL, 
	user_agent VARCHAR(256) NOT NULL, 
	created_at DATETIME NOT NULL, 
	last_used_at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, 
	CONSTRAINT fk_sessions_token_id FOREIGN KEY(token_id) REFERENCES tokens (id), 
	CONSTRAINT fk_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (id), 
	CONSTRAINT uq_sessions_digest UNIQUE (digest)
);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);
CREATE TABLE device_use (
	user_id INTEGER NOT NULL, 
	day INTEGER NOT NULL, 
	seconds FLOAT NOT NULL, 
	CONSTRAINT pk_device_use PRIMARY KEY (user_id, day), 
	CONSTRAINT fk_device_use_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE INDEX ix_device_use_day ON device_use (day);
CREATE INDEX ix_jobs_state_owner_id_priority_id_not_before ON jobs (state, owner_id, priority, id, not_before);
CREATE TABLE webhooks (
	id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	kinds JSON NOT NULL, 
	secret VARCHAR(64) NOT NULL, 
	version INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	failing_since DATETIME, 
	disabled_at DATETIME, 
	disabled_reason TEXT, 
	CONSTRAINT pk_webhooks PRIMARY KEY (id), 
	CONSTRAINT fk_webhooks_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE INDEX ix_webhooks_user_id ON webhooks (user_id);
CREATE TABLE deliveries (
	id INTEGER NOT NULL, 
	webhook_id INTEGER NOT NULL, 
	message_id VARCHAR(64) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	job_id BIGINT, 
	body TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	tries INTEGER NOT NULL, 
	next_at DATETIME, 
	sent_at DATETIME, 
	status INTEGER, 
	error TEXT, 
	CONSTRAINT pk_deliveries PRIMARY KEY (id), 
	CONSTRAINT fk_deliveries_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhooks (id)
);
CREATE INDEX ix_deliveries_webhook_id_id ON deliveries (webhook_id, id);
CREATE INDEX ix_deliveries_next_at ON deliveries (next_at);
CREATE TABLE device_history (
	device_id VARCHAR(128) NOT NULL, 
	at DATETIME NOT NULL, 
	total_bytes BIGINT NOT NULL, 
	ours_bytes BIGINT NOT NULL, 
	others_bytes BIGINT NOT NULL, 
	utilisation INTEGER, 
	temperature INTEGER, 
	job_id BIGINT, 
	CONSTRAINT pk_device_history PRIMARY KEY (device_id, at)
)
 WITHOUT ROWID

;
CREATE INDEX ix_device_history_at ON device_history (at);
CREATE TABLE metric_blocks (
	job_id INTEGER NOT NULL, 
	width INTEGER NOT NULL, 
	name VARCHAR(96) NOT NULL, 
	attempt INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	first_step BIGINT NOT NULL, 
	last_step BIGINT NOT NULL, 
	count INTEGER NOT NULL, 
	total FLOAT NOT NULL, 
	low FLOAT NOT NULL, 
	high FLOAT NOT NULL, 
	CONSTRAINT pk_metric_blocks PRIMARY KEY (job_id, width, name, attempt, number), 
	CONSTRAINT fk_metric_blocks_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
)
 WITHOUT ROWID

;
CREATE INDEX ix_jobs_state_id ON jobs (state, id);
CREATE INDEX ix_jobs_owner_id_state_id ON jobs (owner_id, state, id);
CREATE INDEX ix_jobs_finished_at_state ON jobs (finished_at, state);
CREATE INDEX ix_attempts_ended_at_diagnosis ON attempts (ended_at, diagnosis);
CREATE INDEX ix_measurements_model_host_peak_bytes ON measurements (model, host_peak_bytes);
CREATE VIRTUAL TABLE job_names USING fts5(name, content='', tokenize='trigram');
CREATE VIRTUAL TABLE job_names_parts USING fts5vocab('job_names', 'instance');
CREATE TRIGGER job_names_insert AFTER INSERT ON jobs BEGIN INSERT INTO job_names(rowid, name) VALUES (new.id, new.name || char(3, 3)); END;
CREATE TRIGGER job_names_delete AFTER DELETE ON jobs BEGIN INSERT INTO job_names(job_names, rowid, name) VALUES ('delete', old.id, old.name || char(3, 3)); END;
CREATE TRIGGER job_names_update AFTER UPDATE OF name ON jobs BEGIN INSERT INTO job_names(job_names, rowid, name) VALUES ('delete', old.id, old.name || char(3, 3)); INSERT INTO job_names(rowid, name) VALUES (new.id, new.name || char(3, 3)); END;
CREATE INDEX ix_measurements_in_use ON measurements (model, id) WHERE superseded_at IS NULL;
CREATE INDEX ix_audit_kind_id ON audit (kind, id);
CREATE INDEX ix_audit_user_id_id ON audit (user_id, id);
CREATE INDEX ix_deliveries_created_at ON deliveries (created_at);
CREATE INDEX ix_jobs_with_reason ON jobs (state, id) WHERE reason IS NOT NULL;
INSERT INTO "alembic_version" ("version_num") VALUES
('0018');
INSERT INTO "users" ("id", "name", "role", "created_at", "password", "disabled_at", "max_queued", "max_running", "device_hours_week", "version") VALUES
(1, 'admin', 'admin', '2025-10-14 03:25:36.952230', NULL, NULL, NULL, NULL, NULL, 1),
(2, 'local', 'admin', '2025-10-14 03:25:37.138032', NULL, NULL, NULL, NULL, NULL, 1),
(3, 'owner', 'member', '2025-10-14 03:25:37.152361', NULL, NULL, NULL, NULL, NULL, 1),
(4, 'anna', 'member', '2025-10-14 03:25:38.688778', 'scrypt$16384$8$5$Zf7Cb/caGs9+xaXW0mrZXA==$q1PpvFZ0n7ISYAmtDLQUKmUL96XubDFJq07scJlI4/k=', NULL, 50, NULL, NULL, 1),
(5, 'bert', 'member', '2025-10-14 03:25:38.744284', NULL, NULL, NULL, NULL, NULL, 1),
(6, 'vera', 'viewer', '2025-10-14 03:25:38.776199', NULL, NULL, NULL, NULL, NULL, 1);
INSERT INTO "tokens" ("id", "user_id", "name", "digest", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at") VALUES
(1, 1, 'first', '6c971bb270b6bac0457b8167585b5f001be48ab370d448dae00be1325ef1eba3', '["admin"]', '2025-10-14 03:25:36.952230', NULL, '2025-10-14 03:25:37.446172', NULL),
(2, 4, 'laptop', 'ef0bfdef3bfd5666cec939ec912b283eda5ddd8d4e5b0608d4db47b1a3bcbeb8', '["read", "submit"]', '2025-10-14 03:25:38.810610', NULL, '2025-10-14 03:26:47.185341', NULL),
(3, 5, 'laptop', 'fe0b45e9f69a446a7785b7e83069f767066dfda3c1dd792c32091def5cfeb851', '["submit"]', '2025-10-14 03:25:38.854046', NULL, '2025-10-14 03:26:56.935182', NULL),
(4, 6, 'laptop', 'ab6dbcc6006fdc225c5e7c4b4e184df87c9e3d8b372e23de7d15328c42eb039a', '["read"]', '2025-10-14 03:25:38.884645', NULL, NULL, NULL),
(5, 5, 'lost', '7be35322f9ac8bdb8552ad7528cc4cc32546ca8765108a676292f1d11d7f8b2c', '["read"]', '2025-10-14 03:25:38.919258', NULL, NULL, '2025-10-14 03:25:38.957486');
INSERT INTO "sessions" ("id", "user_id", "token_id", "digest", "user_agent", "created_at", "last_used_at", "expires_at") VALUES
(1, 4, NULL, 'abaacdde767a2d7154d4c07823c6a0f23c934f850435ab7c3ff9c820daba283f', 'testclient', '2025-10-14 03:25:39.650228', '2025-10-14 03:25:39.650228', '2025-10-21 03:25:39.650228');
INSERT INTO "jobs" ("id", "owner_id", "name", "notes", "state", "reason", "stop", "priority", "model", "dataset", "request", "policy", "base_config", "asked", "plan", "planned", "min_memory_bytes", "not_before", "attempts", "step", "steps", "version", "created_at", "queued_at", "started_at", "finished_at", "adjustments") VALUES
(1, 4, 'succeeded', 'The first one.', 'succeeded', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "succeeded", "notes": "The first one.", "model": "efficientdet_d0", "train": {"steps": 6, "batch_size": 4}, "image_size": [256, 256], "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 6
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 6, 6, 3, '2025-10-14 03:25:41.320972', '2025-10-14 03:25:41.320972', '2025-10-14 03:25:41.429967', '2025-10-14 03:25:49.212476', '{}'),
(2, 5, 'with a checkpoint', '', 'succeeded', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "with a checkpoint", "model": "efficientdet_d0", "train": {"steps": 4, "batch_size": 4}, "image_size": [256, 256], "checkpoint": "zoo", "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 4
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 4, 4, 3, '2025-10-14 03:25:49.677673', '2025-10-14 03:25:49.677673', '2025-10-14 03:25:49.948400', '2025-10-14 03:25:58.356537', '{}'),
(3, 4, 'smaller', '', 'succeeded', NULL, NULL, 0, 'efficientdet_d1', 'shapes', '{"name": "smaller", "model": "efficientdet_d1", "train": {"steps": 3, "batch_size": 8}, "image_size": [256, 256], "policy": {"plan_ahead": false}, "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": false}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b1_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 4
        num_filters: 88
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 88
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 8
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.005
          total_steps: 3
          warmup_learning_rate: 6.25e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 8, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"summary": "Micro-batch 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time. Micro-batch 2 is kept: the probe measured 300 MB at micro-batch 2, of 1000 MB.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "8", "after": "2", "reason": "batch 8 is kept and computed in pieces of 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time", "what": "batch 8 is kept and computed in pieces of 2", "why": "predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB", "cost": "steps take longer, and batch normalisation sees 2 images at a time"}], "prediction": {"bytes": 366458771, "low_bytes": 345844680, "high_bytes": 387072862, "source": "scaled", "points": 1}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 485158400, "low_bytes": 412384640, "high_bytes": 557932160, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 463 MB, at most 532 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "backbone", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 1, backbone efficientnet-b0: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them", "summary": "Batch 1, backbone efficientnet-b0: about 293 MB, at most 337 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them."}]}', 0, NULL, 2, 3, 3, 6, '2025-10-14 03:25:58.594729', '2025-10-14 03:26:05.807166', '2025-10-14 03:25:58.736836', '2025-10-14 03:26:12.300019', '{}'),
(4, 4, 'failed', '', 'failed', 'All 3 attempts that the policy allows are used. Attempt 3 needed more than 1000 MB. It needs about 633 MB even at your minimums (micro-batch 1, precision float32, image 256×256, backbone efficientnet-b0, batch 1), from the catalogue (no efficientdet_d0 measured here yet); the largest device has 1100 MB.', NULL, 0, 'efficientdet_d2', 'shapes', '{"name": "failed", "model": "efficientdet_d2", "train": {"steps": 3, "batch_size": 8}, "image_size": [256, 256], "policy": {"max_attempts": 3, "plan_ahead": false}, "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 3, "prefer": "shrink", "plan_ahead": false}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b2_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 5
        num_filters: 112
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 112
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 8
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.005
          total_steps: 3
          warmup_learning_rate: 6.25e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 8, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"summary": "Micro-batch 4, backbone efficientnet-b1: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost. It starts from scratch: 0 steps of efficientdet_d2 are lost. Micro-batch 4 \u2192 1: the probe measured more than there is at micro-batch 4 and more than there is at 2 and more than there is at 1, of 1000 MB.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "1", "after": "4", "reason": "batch 8 is kept and computed in pieces of 4: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "what": "batch 8 is kept and computed in pieces of 4", "why": "predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "cost": null}, {"lever": "backbone", "field": "model", "before": "efficientdet_d2", "after": "efficientdet_d1", "reason": "the backbone changes from efficientnet-b2 to efficientnet-b1 and is trained from the start: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost", "what": "the backbone changes from efficientnet-b2 to efficientnet-b1 and is trained from the start", "why": "predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost"}, {"lever": "backbone", "field": "start", "before": "step 0 of efficientdet_d2", "after": "from scratch", "reason": "starts from scratch: 0 steps of efficientdet_d2 are lost", "what": null, "why": null, "cost": null}, {"lever": "micro_batch", "field": "micro_batch", "before": "4", "after": "1", "reason": "batch 8 is kept and computed in pieces of 1: the probe measured more than there is at micro-batch 4 and more than there is at 2 and more than there is at 1, of 1000 MB; cost: steps take longer, and batch normalisation sees 1 image at a time", "what": "batch 8 is kept and computed in pieces of 1", "why": "the probe measured more than there is at micro-batch 4 and more than there is at 2 and more than there is at 1, of 1000 MB", "cost": "steps take longer, and batch normalisation sees 1 image at a time"}], "prediction": {"bytes": 1048576002, "low_bytes": 1048576001, "high_bytes": 1141855016, "source": "scaled", "points": 2}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 366458771, "low_bytes": 345844680, "high_bytes": 387072862, "source": "scaled", "points": 2}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 2, backbone efficientnet-b1: about 349 MB, at most 369 MB; cost: steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 229847046, "low_bytes": 209400358, "high_bytes": 250293733, "source": "scaled", "points": 2}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 1, backbone efficientnet-b1: about 219 MB, at most 239 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d1", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 198200098, "low_bytes": 175568290, "high_bytes": 220831905, "source": "scaled", "points": 2}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them", "summary": "Batch 1, backbone efficientnet-b1: about 189 MB, at most 211 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them."}]}', 0, NULL, 3, 0, 3, 9, '2025-10-14 03:26:12.711490', '2025-10-14 03:26:25.196769', '2025-10-14 03:26:12.942925', '2025-10-14 03:26:34.177456', '{}'),
(5, 4, 'own config', '', 'succeeded', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "own config", "train": {"steps": 3, "batch_size": 4}, "checkpoint": null, "pipeline_config": "model {\n  ssd {\n    num_classes: 90\n    image_resizer {\n      keep_aspect_ratio_resizer {\n        min_dimension: 512\n        max_dimension: 512\n        pad_to_max_dimension: true\n      }\n    }\n    feature_extractor {\n      type: \"ssd_efficientnet-b0_bifpn_keras\"\n      conv_hyperparams {\n        regularizer {\n          l2_regularizer {\n            weight: 4e-05\n          }\n        }\n        initializer {\n          truncated_normal_initializer {\n            mean: 0.0\n            stddev: 0.03\n          }\n        }\n        activation: SWISH\n        batch_norm {\n          decay: 0.99\n          scale: true\n          epsilon: 0.001\n        }\n        force_use_bias: true\n      }\n      bifpn {\n        min_level: 3\n        max_level: 7\n        num_iterations: 3\n        num_filters: 64\n        combine_method: \"fast_attention\"\n      }\n    }\n    box_coder {\n      faster_rcnn_box_coder {\n        y_scale: 10.0\n        x_scale: 10.0\n        height_scale: 5.0\n        width_scale: 5.0\n      }\n    }\n    matcher {\n      argmax_matcher {\n        matched_threshold: 0.5\n        unmatched_threshold: 0.5\n        ignore_thresholds: false\n        negatives_lower_than_unmatched: true\n        force_match_for_each_row: true\n        use_matmul_gather: true\n      }\n    }\n    similarity_calculator {\n      iou_similarity {\n      }\n    }\n    box_predictor {\n      weight_shared_convolutional_box_predictor {\n        conv_hyperparams {\n          regularizer {\n            l2_regularizer {\n              weight: 4e-05\n            }\n          }\n          initializer {\n            random_normal_initializer {\n              mean: 0.0\n              stddev: 0.01\n            }\n          }\n          activation: SWISH\n          batch_norm {\n            decay: 0.99\n            scale: true\n            epsilon: 0.001\n          }\n          force_use_bias: true\n        }\n        depth: 64\n        num_layers_before_predictor: 3\n        kernel_size: 3\n        class_prediction_bias_init: -4.6\n        use_depthwise: true\n      }\n    }\n    anchor_generator {\n      multiscale_anchor_generator {\n        min_level: 3\n        max_level: 7\n        anchor_scale: 4.0\n        aspect_ratios: 1.0\n        aspect_ratios: 2.0\n        aspect_ratios: 0.5\n        scales_per_octave: 3\n      }\n    }\n    post_processing {\n      batch_non_max_suppression {\n        score_threshold: 1e-08\n        iou_threshold: 0.5\n        max_detections_per_class: 100\n        max_total_detections: 100\n      }\n      score_converter: SIGMOID\n    }\n    normalize_loss_by_num_matches: true\n    loss {\n      localization_loss {\n        weighted_smooth_l1 {\n        }\n      }\n      classification_loss {\n        weighted_sigmoid_focal {\n          gamma: 1.5\n          alpha: 0.25\n        }\n      }\n      classification_weight: 1.0\n      localization_weight: 1.0\n    }\n    encode_background_as_zeros: true\n    normalize_loc_loss_by_codesize: true\n    add_background_class: false\n  }\n}\ntrain_config {\n  batch_size: 16\n  data_augmentation_options {\n    random_horizontal_flip {\n    }\n  }\n  data_augmentation_options {\n    random_scale_crop_and_pad_to_square {\n      output_size: 512\n      scale_min: 0.1\n      scale_max: 2.0\n    }\n  }\n  sync_replicas: true\n  optimizer {\n    momentum_optimizer {\n      learning_rate {\n        cosine_decay_learning_rate {\n          learning_rate_base: 0.04\n          total_steps: 25000\n          warmup_learning_rate: 0.0005\n          warmup_steps: 2500\n        }\n      }\n      momentum_optimizer_value: 0.9\n    }\n    use_moving_average: false\n  }\n  fine_tune_checkpoint: \"PATH_TO_BE_CONFIGURED/ckpt-0\"\n  num_steps: 25000\n  startup_delay_steps: 0.0\n  replicas_to_aggregate: 8\n  max_number_of_boxes: 100\n  unpad_groundtruth_tensors: false\n  fine_tune_checkpoint_type: \"classification\"\n  fine_tune_checkpoint_version: V2\n}\ntrain_input_reader {\n  label_map_path: \"PATH_TO_BE_CONFIGURED/label_map.txt\"\n  tf_record_input_reader {\n    input_path: \"PATH_TO_BE_CONFIGURED/train2017-?????-of-00256.tfrecord\"\n  }\n}\neval_config {\n  num_visualizations: 20\n  metrics_set: \"coco_detection_metrics\"\n  export_path: \"/tmp/predictions\"\n  use_moving_averages: false\n  include_metrics_per_category: false\n  batch_size: 1\n  force_no_resize: true\n}\neval_input_reader {\n  label_map_path: \"PATH_TO_BE_CONFIGURED/label_map.txt\"\n  shuffle: true\n  num_epochs: 2\n  tf_record_input_reader {\n    input_path: \"PATH_TO_BE_CONFIGURED/val2017-?????-of-00032.tfrecord\"\n  }\n}\neval_input_reader {\n  label_map_path: \"PATH_TO_BE_CONFIGURED/label_map.txt\"\n  shuffle: true\n  num_epochs: 2\n  tf_record_input_reader {\n    input_path: \"PATH_TO_BE_CONFIGURED/val2017-?????-of-00032.tfrecord\"\n  }\n}\n", "device": {"wait": true}, "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 512
        max_dimension: 512
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.99
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.99
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 512
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  sync_replicas: true
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.01
          total_steps: 3
          warmup_learning_rate: 0.000125
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  startup_delay_steps: 0.0
  replicas_to_aggregate: 8
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_type: "classification"
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  num_readers: 4
  tf_record_input_reader {
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 100
}
eval_config {
  num_visualizations: 20
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
  force_no_resize: true
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [512, 512], "steps": 3, "learning_rate": 0.01, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [512, 512], "steps": 3, "learning_rate": 0.01, "proposals": null, "second_stage_batch": null}', '{"summary": "Micro-batch 1: predicted 912 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet); as asked it would need about 3152 MB; cost: steps take longer, and batch normalisation sees 1 image at a time. 31 fields of your pipeline.config changed: config_changes lists each with its reason.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "4", "after": "1", "reason": "batch 4 is kept and computed in pieces of 1: predicted 912 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet); as asked it would need about 3152 MB; cost: steps take longer, and batch normalisation sees 1 image at a time", "what": "batch 4 is kept and computed in pieces of 1", "why": "predicted 912 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet); as asked it would need about 3152 MB", "cost": "steps take longer, and batch normalisation sees 1 image at a time"}], "prediction": {"bytes": 956539200, "low_bytes": 813058320, "high_bytes": 1100020080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 3, 3, 3, '2025-10-14 03:26:34.602363', '2025-10-14 03:26:34.602363', '2025-10-14 03:26:34.680290', '2025-10-14 03:26:40.776985', '{}'),
(6, 5, 'cancelled', '', 'cancelled', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "cancelled", "model": "efficientdet_d0", "train": {"steps": 4, "batch_size": 4}, "image_size": [256, 256], "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 4
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 2, 4, 4, '2025-10-14 03:26:40.951081', '2025-10-14 03:26:40.951081', '2025-10-14 03:26:41.045731', '2025-10-14 03:26:47.064777', '{}'),
(7, 4, 'paused', '', 'paused', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "paused", "model": "efficientdet_d0", "train": {"steps": 8, "batch_size": 4}, "image_size": [256, 256], "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 8
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 8
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 8, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 8, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "paused by its owner", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 2, 8, 4, '2025-10-14 03:26:47.221110', '2025-10-14 03:26:47.221110', '2025-10-14 03:26:47.339167', NULL, '{}'),
(8, 4, 'ended', '', 'running', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "ended", "model": "efficientdet_d0", "train": {"steps": 6, "batch_size": 4}, "image_size": [256, 256], "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 6
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 2, 6, 2, '2025-10-14 03:26:52.265812', '2025-10-14 03:26:52.265812', '2025-10-14 03:26:52.350162', NULL, NULL),
(9, 4, 'running', '', 'running', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "running", "model": "efficientdet_d0", "train": {"steps": 40, "batch_size": 4}, "image_size": [256, 256], "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 40
          warmup_learning_rate: 3.125e-05
          warmup_steps: 2
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 40
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 40, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 40, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 4, 40, 2, '2025-10-14 03:26:54.022445', '2025-10-14 03:26:54.022445', '2025-10-14 03:26:54.190060', NULL, NULL),
(10, 5, 'waiting', '', 'queued', 'Waits for CPU slot, 1000 MB (box/cpu-0, 1000 MB), busy with job 8, or for one of 1 others', NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "waiting", "model": "efficientdet_d0", "train": {"steps": 4, "batch_size": 4}, "image_size": [256, 256], "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 4
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 0, 0, 4, 1, '2025-10-14 03:26:57.034535', '2025-10-14 03:26:57.034535', NULL, NULL, NULL),
(11, 4, 'larger', '', 'queued', 'Waits for a device with at least 50,000 MB of memory', NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "larger", "model": "efficientdet_d0", "train": {"steps": 4, "batch_size": 4}, "image_size": [256, 256], "device": {"min_memory_mb": 50000, "wait": true}, "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 4
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Starts as asked; predicted to need 865 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": null}', 52428800000, NULL, 0, 0, 4, 1, '2025-10-14 03:26:57.297766', '2025-10-14 03:26:57.297766', NULL, NULL, NULL),
(12, 4, 'none large enough', '', 'queued', 'Waits for a larger device. It needs about 15,042 MB (the policy allows no changes), from the catalogue (no faster_rcnn_resnet101_fpn measured here yet); the largest device has 1100 MB. The policy does not allow micro_batch, precision, proposals, image_size, backbone, batch_size.', NULL, 0, 'faster_rcnn_resnet101_fpn', 'shapes', '{"name": "none large enough", "model": "faster_rcnn_resnet101_fpn", "train": {"steps": 4, "batch_size": 4}, "image_size": [1024, 1024], "policy": {"levers": []}, "device": {"wait": true}, "dataset": "shapes"}', '{"levers": [], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  faster_rcnn {
    number_of_stages: 2
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 1024
        max_dimension: 1024
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "faster_rcnn_resnet101_fpn_keras"
      first_stage_features_stride: 16
      batch_norm_trainable: true
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 0.0004
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: RELU_6
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
      }
      override_base_feature_extractor_hyperparams: true
      fpn {
        min_level: 2
        max_level: 6
      }
    }
    first_stage_anchor_generator {
      multiscale_anchor_generator {
        min_level: 2
        max_level: 6
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 2
        normalize_coordinates: false
      }
    }
    first_stage_box_predictor_conv_hyperparams {
      op: CONV
      regularizer {
        l2_regularizer {
          weight: 0.0
        }
      }
      initializer {
        truncated_normal_initializer {
          mean: 0.0
          stddev: 0.01
        }
      }
    }
    first_stage_nms_score_threshold: 0.0
    first_stage_nms_iou_threshold: 0.7
    first_stage_max_proposals: 300
    first_stage_localization_loss_weight: 2.0
    first_stage_objectness_loss_weight: 1.0
    initial_crop_size: 14
    maxpool_kernel_size: 2
    maxpool_stride: 2
    second_stage_box_predictor {
      mask_rcnn_box_predictor {
        fc_hyperparams {
          op: FC
          regularizer {
            l2_regularizer {
              weight: 0.0
            }
          }
          initializer {
            variance_scaling_initializer {
              factor: 1.0
              uniform: true
              mode: FAN_AVG
            }
          }
        }
        use_dropout: false
        dropout_keep_probability: 1.0
      }
    }
    second_stage_batch_size: 64
    second_stage_post_processing {
      batch_non_max_suppression {
        score_threshold: 0.0
        iou_threshold: 0.6
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SOFTMAX
    }
    second_stage_localization_loss_weight: 2.0
    second_stage_classification_loss_weight: 1.0
    clip_anchors_to_image: true
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 0.00083333335
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  gradient_clipping_by_norm: 10.0
  num_steps: 4
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: true
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "faster_rcnn_resnet101_fpn", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [1024, 1024], "steps": 4, "learning_rate": 0.0025, "proposals": 300, "second_stage_batch": 64}', '{"model": "faster_rcnn_resnet101_fpn", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [1024, 1024], "steps": 4, "learning_rate": 0.0025, "proposals": 300, "second_stage_batch": 64}', '{"summary": "As asked.", "changes": [], "prediction": {"bytes": 15772348800, "low_bytes": 13406496480, "high_bytes": 18138201120, "source": "catalogue", "points": 0}, "capacity_bytes": null}', 0, NULL, 0, 0, 4, 1, '2025-10-14 03:26:57.532219', '2025-10-14 03:26:57.532219', NULL, NULL, NULL),
(13, 4, 'held', '', 'queued', 'the disk is full: No space left on device: free disk space on box, for example remove old jobs or datasets; the job then continues by itself; retried after 60 s', NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "held", "model": "efficientdet_d0", "train": {"steps": 6, "batch_size": 1}, "image_size": [256, 256], "policy": {"plan_ahead": false}, "priority": 0, "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": false}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 1
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.000625
          total_steps: 6
          warmup_learning_rate: 7.8125e-06
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}', '{"summary": "waits for disk space on box; the same plan again, from its checkpoint at step 3 after 60 s", "changes": [], "prediction": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, '2025-10-14 03:28:10.038484', 1, 3, 6, 3, '2025-10-14 03:27:04.133393', '2025-10-14 03:27:10.038484', '2025-10-14 03:27:04.464540', NULL, '{}'),
(14, 4, 'interrupted', '', 'queued', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "interrupted", "model": "efficientdet_d0", "train": {"steps": 6, "batch_size": 1}, "image_size": [256, 256], "policy": {"plan_ahead": false}, "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": false}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 1
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.000625
          total_steps: 6
          warmup_learning_rate: 7.8125e-06
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}', '{"summary": "the same plan again, from its checkpoint at step 2", "changes": [], "prediction": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 1, 2, 6, 3, '2025-10-14 03:27:10.307546', '2025-10-14 03:27:16.135261', '2025-10-14 03:27:10.577145', NULL, '{}'),
(15, 5, 'queued', '', 'queued', NULL, NULL, 0, 'efficientdet_d0', 'shapes', '{"name": "queued", "model": "efficientdet_d0", "train": {"steps": 4, "batch_size": 4}, "image_size": [256, 256], "priority": 0, "dataset": "shapes"}', '{"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 4
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  shuffle: false
  num_epochs: 1
  tf_record_input_reader {
  }
  max_number_of_boxes: 100
}
', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600}', 0, NULL, 0, 0, 4, 1, '2025-10-14 03:27:16.245960', '2025-10-14 03:27:16.245960', NULL, NULL, NULL);
INSERT INTO "attempts" ("job_id", "number", "plan", "planned", "config", "device_id", "device_name", "limit_bytes", "host", "token", "phase", "step", "step_s", "saved_step", "ingested", "peak_bytes", "outcome", "reason", "diagnosis", "message", "exit_status", "followed_by", "started_at", "trainer_started_at", "ended_at", "adjustments", "finding") VALUES
(1, 1, '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 556769600, "low_bytes": 473254160, "high_bytes": 640285040, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 531 MB, at most 611 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "noisier updates, and more of them", "summary": "Batch 1: about 293 MB, at most 337 MB; cost: noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 6
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', '544fdb1ab1d42ee3cfc86167258e5c84', 'exporting', 6, 0.02, 6, 2615, NULL, '{"reason": "completed", "message": "trained to step 6", "step": 6, "runs": null, "saved_step": 6, "allocator": {"limit": 1048576000, "in_use": 1048576000, "peak": null, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "export": "export", "seconds": 0.0}', 'completed', 'completed', 'trained to step 6', 0, 'finished', '2025-10-14 03:25:41.429967', '2025-10-14 03:25:42.174265', '2025-10-14 03:25:49.212476', 'null', NULL),
(2, 1, '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 556769600, "low_bytes": 473254160, "high_bytes": 640285040, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 531 MB, at most 611 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 16, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "noisier updates, and more of them", "summary": "Batch 1: about 293 MB, at most 337 MB; cost: noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  fine_tune_checkpoint: "@HOME@/checkpoints/zoo/ckpt-0"
  num_steps: 4
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_type: "detection"
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', '98c704f5d824ae67ef6649945651d2e4', 'exporting', 4, 0.02, 4, 1954, NULL, '{"reason": "completed", "message": "trained to step 4", "step": 4, "runs": null, "saved_step": 4, "allocator": {"limit": 1048576000, "in_use": 1048576000, "peak": null, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "export": "export", "seconds": 0.0}', 'completed', 'completed', 'trained to step 4', 0, 'finished', '2025-10-14 03:25:49.948400', '2025-10-14 03:25:50.918006', '2025-10-14 03:25:58.356537', 'null', NULL),
(3, 1, '{"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 8, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"summary": "Starts as asked; predicted to need 2324 MB, from the catalogue (no efficientdet_d1 measured here yet).", "changes": [], "prediction": {"bytes": 2436867200, "low_bytes": 2071337120, "high_bytes": 2802397280, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 1350233600, "low_bytes": 1147698560, "high_bytes": 1552768640, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": false}, "cost": "steps take longer, and batch normalisation sees 4 images at a time", "summary": "Micro-batch 4: about 1288 MB, at most 1481 MB; cost: steps take longer, and batch normalisation sees 4 images at a time."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 773516800, "low_bytes": 657489280, "high_bytes": 889544320, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 738 MB, at most 848 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 485158400, "low_bytes": 412384640, "high_bytes": 557932160, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 463 MB, at most 532 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "backbone", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 1, backbone efficientnet-b0: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-1": true}, "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them", "summary": "Batch 1, backbone efficientnet-b0: about 293 MB, at most 337 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b1_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 4
        num_filters: 88
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 88
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 8
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.005
          total_steps: 3
          warmup_learning_rate: 6.25e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-1', 'CPU slot, 1100 MB', 1153433600, 'box', '93a8db12ba8bc020c7c7501993c11945', 'tracing', 0, NULL, NULL, 267, 1258291200, '{"reason": "device_memory", "message": "the device ran out of memory", "step": 0, "runs": null, "saved_step": null, "allocator": {"limit": 1153433600, "in_use": 1153433600, "peak": 1258291200, "evaluation_peak": null, "requested": 1048576, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'device_memory', 'too_large', 'the device ran out of memory', 20, 'Micro-batch 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time.', '2025-10-14 03:25:58.736836', '2025-10-14 03:25:59.617603', '2025-10-14 03:26:05.807166', 'null', '{"why": "the device ran out of memory (1100 MB of 1100 MB in use, 1 MB requested): the job is too large for it", "evidence": [{"line": 2, "text": "Allocator (mklcpu) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)"}], "figures": {"limit": 1153433600, "in_use": 1153433600, "peak": 1258291200, "requested": 1048576, "allocator": "mklcpu", "free": 0}}'),
(3, 2, '{"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"summary": "Micro-batch 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time. Micro-batch 2 is kept: the probe measured 300 MB at micro-batch 2, of 1000 MB.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "8", "after": "2", "reason": "batch 8 is kept and computed in pieces of 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time", "what": "batch 8 is kept and computed in pieces of 2", "why": "predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB", "cost": "steps take longer, and batch normalisation sees 2 images at a time"}], "prediction": {"bytes": 366458771, "low_bytes": 345844680, "high_bytes": 387072862, "source": "scaled", "points": 1}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 485158400, "low_bytes": 412384640, "high_bytes": 557932160, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 463 MB, at most 532 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "backbone", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 1, backbone efficientnet-b0: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them", "summary": "Batch 1, backbone efficientnet-b0: about 293 MB, at most 337 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b1_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 4
        num_filters: 88
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 88
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 8
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.005
          total_steps: 3
          warmup_learning_rate: 6.25e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', '6380403d9edc0476fab3491355019893', 'exporting', 3, 0.02, 3, 1904, 314572800, '{"reason": "completed", "message": "trained to step 3", "step": 3, "runs": null, "saved_step": 3, "allocator": {"limit": 1048576000, "in_use": 1048576000, "peak": 314572800, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "export": "export", "seconds": 0.0}', 'completed', 'completed', 'trained to step 3', 0, 'finished', '2025-10-14 03:26:06.107214', '2025-10-14 03:26:06.672881', '2025-10-14 03:26:12.300019', '{}', NULL),
(4, 1, '{"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 8, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"summary": "Starts as asked; predicted to need 2509 MB, from the catalogue (no efficientdet_d2 measured here yet).", "changes": [], "prediction": {"bytes": 2631368000, "low_bytes": 2236662800, "high_bytes": 3026073200, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 1461984000, "low_bytes": 1242686400, "high_bytes": 1681281600, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": false}, "cost": "steps take longer, and batch normalisation sees 4 images at a time", "summary": "Micro-batch 4: about 1394 MB, at most 1603 MB; cost: steps take longer, and batch normalisation sees 4 images at a time."}, {"plan": {"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 839392000, "low_bytes": 713483200, "high_bytes": 965300800, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 801 MB, at most 921 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 528096000, "low_bytes": 448881600, "high_bytes": 607310400, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 504 MB, at most 579 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 366458771, "low_bytes": 345844680, "high_bytes": 387072862, "source": "scaled", "points": 2}, "lever": "backbone", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 2, backbone efficientnet-b1: about 349 MB, at most 369 MB; cost: steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 229847046, "low_bytes": 209400358, "high_bytes": 250293733, "source": "scaled", "points": 2}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 1, backbone efficientnet-b1: about 219 MB, at most 239 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b2_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 5
        num_filters: 112
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 112
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 8
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.005
          total_steps: 3
          warmup_learning_rate: 6.25e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-1', 'CPU slot, 1100 MB', 1153433600, 'box', '711c2f8d22f9f6779361a57c7d268e90', 'tracing', 0, NULL, NULL, 268, 25165824000, '{"reason": "device_memory", "message": "the device ran out of memory", "step": 0, "runs": null, "saved_step": null, "allocator": {"limit": 1153433600, "in_use": 1153433600, "peak": 25165824000, "evaluation_peak": null, "requested": 1048576, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'device_memory', 'too_large', 'the device ran out of memory', 20, 'Micro-batch 2: predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time.', '2025-10-14 03:26:12.942925', '2025-10-14 03:26:13.560552', '2025-10-14 03:26:19.185154', 'null', '{"why": "the device ran out of memory (1100 MB of 1100 MB in use, 1 MB requested): the job is too large for it", "evidence": [{"line": 2, "text": "Allocator (mklcpu) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)"}], "figures": {"limit": 1153433600, "in_use": 1153433600, "peak": 25165824000, "requested": 1048576, "allocator": "mklcpu", "free": 0}}'),
(4, 2, '{"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"summary": "Micro-batch 2: predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time. Micro-batch 2 \u2192 1: the probe measured more than there is at micro-batch 2 and more than there is at 1, of 1000 MB.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "8", "after": "2", "reason": "batch 8 is kept and computed in pieces of 2: predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time", "what": "batch 8 is kept and computed in pieces of 2", "why": "predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB", "cost": "steps take longer, and batch normalisation sees 2 images at a time"}, {"lever": "micro_batch", "field": "micro_batch", "before": "2", "after": "1", "reason": "batch 8 is kept and computed in pieces of 1: the probe measured more than there is at micro-batch 2 and more than there is at 1, of 1000 MB; cost: steps take longer, and batch normalisation sees 1 image at a time", "what": "batch 8 is kept and computed in pieces of 1", "why": "the probe measured more than there is at micro-batch 2 and more than there is at 1, of 1000 MB", "cost": "steps take longer, and batch normalisation sees 1 image at a time"}], "prediction": {"bytes": 1048576001, "low_bytes": 1048576001, "high_bytes": 1205862402, "source": "scaled", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 528096000, "low_bytes": 448881600, "high_bytes": 607310400, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 504 MB, at most 579 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 366458771, "low_bytes": 345844680, "high_bytes": 387072862, "source": "scaled", "points": 2}, "lever": "backbone", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 2, backbone efficientnet-b1: about 349 MB, at most 369 MB; cost: steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 229847046, "low_bytes": 209400358, "high_bytes": 250293733, "source": "scaled", "points": 2}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 1, backbone efficientnet-b1: about 219 MB, at most 239 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d1", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 198200098, "low_bytes": 175568290, "high_bytes": 220831905, "source": "scaled", "points": 2}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them", "summary": "Batch 1, backbone efficientnet-b1: about 189 MB, at most 211 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b2_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 5
        num_filters: 112
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 112
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 8
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.005
          total_steps: 3
          warmup_learning_rate: 6.25e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', 'd287346debab610116979d8fac522f04', 'probing', 0, NULL, NULL, 521, 3145728000, '{"reason": "device_memory", "message": "the device ran out of memory", "step": 0, "runs": null, "saved_step": null, "allocator": {"limit": 1048576000, "in_use": 1048576000, "peak": 3145728000, "evaluation_peak": null, "requested": 1048576, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'device_memory', 'too_large', 'the device ran out of memory', 20, 'Micro-batch 4, backbone efficientnet-b1: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost.', '2025-10-14 03:26:19.419109', '2025-10-14 03:26:20.031920', '2025-10-14 03:26:25.196769', '{}', '{"why": "the device ran out of memory (1000 MB of 1000 MB in use, 1 MB requested): the job is too large for it", "evidence": [{"line": 2, "text": "Allocator (mklcpu) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)"}], "figures": {"limit": 1048576000, "in_use": 1048576000, "peak": 3145728000, "requested": 1048576, "allocator": "mklcpu", "free": 0}}'),
(4, 3, '{"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}', '{"summary": "Micro-batch 4, backbone efficientnet-b1: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost. It starts from scratch: 0 steps of efficientdet_d2 are lost. Micro-batch 4 \u2192 1: the probe measured more than there is at micro-batch 4 and more than there is at 2 and more than there is at 1, of 1000 MB.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "1", "after": "4", "reason": "batch 8 is kept and computed in pieces of 4: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "what": "batch 8 is kept and computed in pieces of 4", "why": "predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "cost": null}, {"lever": "backbone", "field": "model", "before": "efficientdet_d2", "after": "efficientdet_d1", "reason": "the backbone changes from efficientnet-b2 to efficientnet-b1 and is trained from the start: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost", "what": "the backbone changes from efficientnet-b2 to efficientnet-b1 and is trained from the start", "why": "predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost"}, {"lever": "backbone", "field": "start", "before": "step 0 of efficientdet_d2", "after": "from scratch", "reason": "starts from scratch: 0 steps of efficientdet_d2 are lost", "what": null, "why": null, "cost": null}, {"lever": "micro_batch", "field": "micro_batch", "before": "4", "after": "1", "reason": "batch 8 is kept and computed in pieces of 1: the probe measured more than there is at micro-batch 4 and more than there is at 2 and more than there is at 1, of 1000 MB; cost: steps take longer, and batch normalisation sees 1 image at a time", "what": "batch 8 is kept and computed in pieces of 1", "why": "the probe measured more than there is at micro-batch 4 and more than there is at 2 and more than there is at 1, of 1000 MB", "cost": "steps take longer, and batch normalisation sees 1 image at a time"}], "prediction": {"bytes": 1048576002, "low_bytes": 1048576001, "high_bytes": 1141855016, "source": "scaled", "points": 2}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 366458771, "low_bytes": 345844680, "high_bytes": 387072862, "source": "scaled", "points": 2}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 2, backbone efficientnet-b1: about 349 MB, at most 369 MB; cost: steps take longer, and batch normalisation sees 2 images at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 229847046, "low_bytes": 209400358, "high_bytes": 250293733, "source": "scaled", "points": 2}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost", "summary": "Micro-batch 1, backbone efficientnet-b1: about 219 MB, at most 239 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, a smaller network, usually less accurate, and the weights learnt so far are lost."}, {"plan": {"model": "efficientdet_d1", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 198200098, "low_bytes": 175568290, "high_bytes": 220831905, "source": "scaled", "points": 2}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them", "summary": "Batch 1, backbone efficientnet-b1: about 189 MB, at most 211 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost, noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b1_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 4
        num_filters: 88
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 88
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 8
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.005
          total_steps: 3
          warmup_learning_rate: 6.25e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', 'f964b1a88c565778d8ddd876d276fe45', 'probing', 0, NULL, NULL, 555, 3145728000, '{"reason": "device_memory", "message": "the device ran out of memory", "step": 0, "runs": null, "saved_step": null, "allocator": {"limit": 1048576000, "in_use": 1048576000, "peak": 3145728000, "evaluation_peak": null, "requested": 1048576, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'device_memory', 'too_large', 'the device ran out of memory', 20, 'Not retried. All 3 attempts that the policy allows are used. Attempt 3 needed more than 1000 MB. It needs about 633 MB even at your minimums (micro-batch 1, precision float32, image 256×256, backbone efficientnet-b0, batch 1), from the catalogue (no efficientdet_d0 measured here yet); the largest device has 1100 MB.', '2025-10-14 03:26:25.502333', '2025-10-14 03:26:26.426279', '2025-10-14 03:26:34.177456', '{}', '{"why": "the device ran out of memory (1000 MB of 1000 MB in use, 1 MB requested): the job is too large for it", "evidence": [{"line": 2, "text": "Allocator (mklcpu) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)"}], "figures": {"limit": 1048576000, "in_use": 1048576000, "peak": 3145728000, "requested": 1048576, "allocator": "mklcpu", "free": 0}}'),
(5, 1, '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [512, 512], "steps": 3, "learning_rate": 0.01, "proposals": null, "second_stage_batch": null}', '{"summary": "Micro-batch 1: predicted 912 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet); as asked it would need about 3152 MB; cost: steps take longer, and batch normalisation sees 1 image at a time. 31 fields of your pipeline.config changed: config_changes lists each with its reason.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "4", "after": "1", "reason": "batch 4 is kept and computed in pieces of 1: predicted 912 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet); as asked it would need about 3152 MB; cost: steps take longer, and batch normalisation sees 1 image at a time", "what": "batch 4 is kept and computed in pieces of 1", "why": "predicted 912 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet); as asked it would need about 3152 MB", "cost": "steps take longer, and batch normalisation sees 1 image at a time"}], "prediction": {"bytes": 956539200, "low_bytes": 813058320, "high_bytes": 1100020080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [384, 384], "steps": 3, "learning_rate": 0.01, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 606740800, "low_bytes": 515729680, "high_bytes": 697751920, "source": "catalogue", "points": 0}, "lever": "image_size", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, small objects get harder to find", "summary": "Micro-batch 1, image 384\u00d7384: about 579 MB, at most 665 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, small objects get harder to find."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.01, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 556769600, "low_bytes": 473254160, "high_bytes": 640285040, "source": "catalogue", "points": 0}, "lever": "image_size", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time, small objects get harder to find", "summary": "Micro-batch 2, image 256\u00d7256: about 531 MB, at most 611 MB; cost: steps take longer, and batch normalisation sees 2 images at a time, small objects get harder to find."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.01, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time, small objects get harder to find", "summary": "Micro-batch 1, image 256\u00d7256: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time, small objects get harder to find."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 12, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-1": true}, "cost": "small objects get harder to find, noisier updates, and more of them", "summary": "Batch 1, image 256\u00d7256: about 293 MB, at most 337 MB; cost: small objects get harder to find, noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 512
        max_dimension: 512
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.99
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.99
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 512
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  sync_replicas: true
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.01
          total_steps: 3
          warmup_learning_rate: 0.000125
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 3
  startup_delay_steps: 0.0
  replicas_to_aggregate: 8
  max_number_of_boxes: 100
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_type: "classification"
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 100
}
eval_config {
  num_visualizations: 20
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
  force_no_resize: true
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 100
}
', 'box/cpu-1', 'CPU slot, 1100 MB', 1153433600, 'box', 'cecb60d63a15150727b558fedb5e6dc2', 'exporting', 3, 0.02, 3, 1632, NULL, '{"reason": "completed", "message": "trained to step 3", "step": 3, "runs": null, "saved_step": 3, "allocator": {"limit": 1153433600, "in_use": 1153433600, "peak": null, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "export": "export", "seconds": 0.0}', 'completed', 'completed', 'trained to step 3', 0, 'finished', '2025-10-14 03:26:34.680290', '2025-10-14 03:26:35.266560', '2025-10-14 03:26:40.776985', 'null', NULL),
(6, 1, '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 556769600, "low_bytes": 473254160, "high_bytes": 640285040, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 531 MB, at most 611 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 4, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 16, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "noisier updates, and more of them", "summary": "Batch 1: about 293 MB, at most 337 MB; cost: noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 4
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 4
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', 'f681e1a329abe5cb2fbd6ecafb7ed598', 'training', 2, 0.02, 2, 1019, NULL, '{"reason": "stopped", "message": "stopped on request", "step": 2, "runs": null, "saved_step": 2, "allocator": {"limit": 1048576000, "in_use": 1048576000, "peak": null, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'stopped', 'interrupted', 'stopped on request', 10, 'cancelled by its owner', '2025-10-14 03:26:41.045731', '2025-10-14 03:26:41.566203', '2025-10-14 03:26:47.064777', 'null', '{"why": "the trainer reported: stopped", "evidence": [], "figures": {}}'),
(7, 1, '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 8, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 8, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 556769600, "low_bytes": 473254160, "high_bytes": 640285040, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 531 MB, at most 611 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 8, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 32, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "noisier updates, and more of them", "summary": "Batch 1: about 293 MB, at most 337 MB; cost: noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 8
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 8
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', '62383d09a233dfef3e1171c5e2541e25', 'training', 2, 0.02, 2, 1020, NULL, '{"reason": "stopped", "message": "stopped on request", "step": 2, "runs": null, "saved_step": 2, "allocator": {"limit": 1048576000, "in_use": 1048576000, "peak": null, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'stopped', 'interrupted', 'stopped on request', 10, 'paused by its owner', '2025-10-14 03:26:47.339167', '2025-10-14 03:26:47.816507', '2025-10-14 03:26:52.022612', 'null', '{"why": "the trainer reported: stopped", "evidence": [], "figures": {}}'),
(8, 1, '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 556769600, "low_bytes": 473254160, "high_bytes": 640285040, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 531 MB, at most 611 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-0": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 24, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-0": true}, "cost": "noisier updates, and more of them", "summary": "Batch 1: about 293 MB, at most 337 MB; cost: noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 6
          warmup_learning_rate: 3.125e-05
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-0', 'CPU slot, 1000 MB', 1048576000, 'box', 'ab292b306385449aac310c00b0c21ef7', 'training', 2, 0.02, 2, 1015, 0, NULL, NULL, NULL, NULL, NULL, NULL, '2025-10-14 03:26:52.350162', '2025-10-14 03:26:52.734216', NULL, 'null', NULL),
(9, 1, '{"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 40, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}', '{"summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": [{"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 40, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 556769600, "low_bytes": 473254160, "high_bytes": 640285040, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 2 images at a time", "summary": "Micro-batch 2: about 531 MB, at most 611 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 40, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 356884800, "low_bytes": 303352080, "high_bytes": 410417520, "source": "catalogue", "points": 0}, "lever": "micro_batch", "fits": {"box/cpu-1": true}, "cost": "steps take longer, and batch normalisation sees 1 image at a time", "summary": "Micro-batch 1: about 340 MB, at most 391 MB; cost: steps take longer, and batch normalisation sees 1 image at a time."}, {"plan": {"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 160, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "lever": "batch_size", "fits": {"box/cpu-1": true}, "cost": "noisier updates, and more of them", "summary": "Batch 1: about 293 MB, at most 337 MB; cost: noisier updates, and more of them."}]}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 4
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.0025
          total_steps: 40
          warmup_learning_rate: 3.125e-05
          warmup_steps: 2
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 40
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-1', 'CPU slot, 1100 MB', 1153433600, 'box', '67b2ed0323839ae9d8c27e76e8bd6750', 'training', 4, 0.02, 4, 1677, 0, NULL, NULL, NULL, NULL, NULL, NULL, '2025-10-14 03:26:54.190060', '2025-10-14 03:26:54.971465', NULL, 'null', NULL),
(13, 1, '{"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}', '{"summary": "Starts as asked; predicted to need 293 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": []}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 1
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.000625
          total_steps: 6
          warmup_learning_rate: 7.8125e-06
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-2', 'CPU slot, 120 MB', 125829120, 'box', '4f711cf0373654e73007c4929ddb3c29', 'training', 3, 0.02, 3, 1354, NULL, '{"reason": "disk_full", "message": "the disk is full: No space left on device", "step": 3, "runs": null, "saved_step": 3, "allocator": {"limit": 125829120, "in_use": 125829120, "peak": null, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'disk_full', 'disk', 'the disk is full: No space left on device', 22, 'waits for disk space on box; the same plan again, from its checkpoint at step 3 after 60 s', '2025-10-14 03:27:04.464540', '2025-10-14 03:27:05.009806', '2025-10-14 03:27:10.038484', 'null', '{"why": "the trainer reported: disk full", "evidence": [{"line": 2, "text": "OSError: [Errno 28] No space left on device"}], "figures": {}}'),
(14, 1, '{"model": "efficientdet_d0", "batch_size": 1, "micro_batch": 1, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.000625, "proposals": null, "second_stage_batch": null}', '{"summary": "Starts as asked; predicted to need 293 MB, from the catalogue (no efficientdet_d0 measured here yet).", "changes": [], "prediction": {"bytes": 306884800, "low_bytes": 260852080, "high_bytes": 352917520, "source": "catalogue", "points": 0}, "capacity_bytes": 1153433600, "ladder": []}', 'model {
  ssd {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer {
        min_dimension: 256
        max_dimension: 256
        pad_to_max_dimension: true
      }
    }
    feature_extractor {
      type: "ssd_efficientnet-b0_bifpn_keras"
      conv_hyperparams {
        regularizer {
          l2_regularizer {
            weight: 4e-05
          }
        }
        initializer {
          truncated_normal_initializer {
            mean: 0.0
            stddev: 0.03
          }
        }
        activation: SWISH
        batch_norm {
          decay: 0.9
          scale: true
          epsilon: 0.001
        }
        force_use_bias: true
      }
      bifpn {
        min_level: 3
        max_level: 7
        num_iterations: 3
        num_filters: 64
        combine_method: "fast_attention"
      }
    }
    box_coder {
      faster_rcnn_box_coder {
        y_scale: 10.0
        x_scale: 10.0
        height_scale: 5.0
        width_scale: 5.0
      }
    }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        ignore_thresholds: false
        negatives_lower_than_unmatched: true
        force_match_for_each_row: true
        use_matmul_gather: true
      }
    }
    similarity_calculator {
      iou_similarity {
      }
    }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        conv_hyperparams {
          regularizer {
            l2_regularizer {
              weight: 4e-05
            }
          }
          initializer {
            random_normal_initializer {
              mean: 0.0
              stddev: 0.01
            }
          }
          activation: SWISH
          batch_norm {
            decay: 0.9
            scale: true
            epsilon: 0.001
          }
          force_use_bias: true
        }
        depth: 64
        num_layers_before_predictor: 3
        kernel_size: 3
        class_prediction_bias_init: -4.6
        use_depthwise: true
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: 1.0
        aspect_ratios: 2.0
        aspect_ratios: 0.5
        scales_per_octave: 3
      }
    }
    post_processing {
      batch_non_max_suppression {
        score_threshold: 1e-08
        iou_threshold: 0.5
        max_detections_per_class: 100
        max_total_detections: 100
      }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss {
        weighted_smooth_l1 {
        }
      }
      classification_loss {
        weighted_sigmoid_focal {
          gamma: 1.5
          alpha: 0.25
        }
      }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    add_background_class: false
  }
}
train_config {
  batch_size: 1
  data_augmentation_options {
    random_horizontal_flip {
    }
  }
  data_augmentation_options {
    random_scale_crop_and_pad_to_square {
      output_size: 256
      scale_min: 0.1
      scale_max: 2.0
    }
  }
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.000625
          total_steps: 6
          warmup_learning_rate: 7.8125e-06
          warmup_steps: 0
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  num_steps: 6
  max_number_of_boxes: 5
  unpad_groundtruth_tensors: false
  fine_tune_checkpoint_version: V2
}
train_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  num_readers: 4
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/train-00000-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00001-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00002-of-00004.tfrecord"
    input_path: "@HOME@/datasets/shapes/train-00003-of-00004.tfrecord"
  }
  shuffle_buffer_size: 4
  read_block_length: 8
  num_parallel_batches: 2
  num_prefetch_batches: 2
  max_number_of_boxes: 5
}
eval_config {
  metrics_set: "coco_detection_metrics"
  use_moving_averages: false
  include_metrics_per_category: false
  batch_size: 1
}
eval_input_reader {
  label_map_path: "@HOME@/datasets/shapes/label_map.pbtxt"
  shuffle: false
  num_epochs: 1
  num_readers: 1
  tf_record_input_reader {
    input_path: "@HOME@/datasets/shapes/validation-00000-of-00002.tfrecord"
    input_path: "@HOME@/datasets/shapes/validation-00001-of-00002.tfrecord"
  }
  num_parallel_batches: 2
  num_prefetch_batches: 1
  max_number_of_boxes: 5
}
', 'box/cpu-2', 'CPU slot, 120 MB', 125829120, 'box', 'a27d03a9318cf4e361022e80041893ef', 'training', 2, 0.02, 2, 1016, NULL, '{"reason": "stopped", "message": "stopped on request", "step": 2, "runs": null, "saved_step": 2, "allocator": {"limit": 125829120, "in_use": 125829120, "peak": null, "evaluation_peak": null, "requested": null, "requested_shape": null, "requested_op": null, "allocator": null}, "walked_bytes": null, "host_peak_bytes": null, "metrics": {}, "export": null, "seconds": 0.0}', 'stopped', 'interrupted', 'stopped on request', 10, 'the same plan again, from its checkpoint at step 2', '2025-10-14 03:27:10.577145', '2025-10-14 03:27:11.039726', '2025-10-14 03:27:16.135261', 'null', '{"why": "the trainer reported: stopped", "evidence": [], "figures": {}}');
INSERT INTO "devices" ("id", "host", "key", "kind", "index", "name", "total_bytes", "free_bytes", "bfloat16", "utilisation", "temperature", "processes", "problem", "baseline_bytes", "seen_at", "problem_since") VALUES
('box/cpu-0', 'box', 'cpu-0', 'cpu', 0, 'CPU slot, 1000 MB', 1048576000, 1048576000, 0, NULL, NULL, '[]', NULL, NULL, '2025-10-14 03:27:10.565373', NULL),
('box/cpu-1', 'box', 'cpu-1', 'cpu', 1, 'CPU slot, 1100 MB', 1153433600, 1153433600, 0, NULL, NULL, '[]', NULL, NULL, '2025-10-14 03:27:10.565373', NULL),
('box/cpu-2', 'box', 'cpu-2', 'cpu', 2, 'CPU slot, 120 MB', 125829120, 125829120, 0, NULL, NULL, '[]', NULL, NULL, '2025-10-14 03:27:10.565373', NULL);
INSERT INTO "audit" ("id", "at", "user_id", "action", "target", "data", "kind") VALUES
(1, '2025-10-14 03:25:37.152361', 2, 'user.create', 'user owner', '{"role": "member"}', 'user'),
(2, '2025-10-14 03:25:38.688778', 1, 'user.create', 'user anna', '{"role": "member"}', 'user'),
(3, '2025-10-14 03:25:38.744284', 1, 'user.create', 'user bert', '{"role": "member"}', 'user'),
(4, '2025-10-14 03:25:38.776199', 1, 'user.create', 'user vera', '{"role": "viewer"}', 'user'),
(5, '2025-10-14 03:25:38.810610', 1, 'token.create', 'token 2', '{"name": "laptop", "user": "anna"}', 'token'),
(6, '2025-10-14 03:25:38.854046', 1, 'token.create', 'token 3', '{"name": "laptop", "user": "bert"}', 'token'),
(7, '2025-10-14 03:25:38.884645', 1, 'token.create', 'token 4', '{"name": "laptop", "user": "vera"}', 'token'),
(8, '2025-10-14 03:25:38.919258', 1, 'token.create', 'token 5', '{"name": "lost", "user": "bert"}', 'token'),
(9, '2025-10-14 03:25:38.957486', 1, 'token.revoke', 'token 5', '{}', 'token'),
(10, '2025-10-14 03:25:39.650228', 4, 'session.begin', 'user anna', '{"address": "testclient"}', 'session'),
(11, '2025-10-14 03:25:39.780130', 4, 'webhook.create', 'webhook 1', '{"host": "hooks.example"}', 'webhook'),
(12, '2025-10-14 03:25:41.017865', 4, 'checkpoint.add', 'checkpoint zoo', '{}', 'checkpoint'),
(13, '2025-10-14 03:25:41.320972', 4, 'job.submit', 'job 1', '{"name": "succeeded"}', 'job'),
(14, '2025-10-14 03:25:49.677673', 5, 'job.submit', 'job 2', '{"name": "with a checkpoint"}', 'job'),
(15, '2025-10-14 03:25:58.594729', 4, 'job.submit', 'job 3', '{"name": "smaller"}', 'job'),
(16, '2025-10-14 03:26:12.711490', 4, 'job.submit', 'job 4', '{"name": "failed"}', 'job'),
(17, '2025-10-14 03:26:34.602363', 4, 'job.submit', 'job 5', '{"name": "own config"}', 'job'),
(18, '2025-10-14 03:26:40.951081', 5, 'job.submit', 'job 6', '{"name": "cancelled"}', 'job'),
(19, '2025-10-14 03:26:42.710431', 5, 'job.cancel', 'job 6', '{}', 'job'),
(20, '2025-10-14 03:26:47.221110', 4, 'job.submit', 'job 7', '{"name": "paused"}', 'job'),
(21, '2025-10-14 03:26:48.656016', 4, 'job.pause', 'job 7', '{}', 'job'),
(22, '2025-10-14 03:26:52.265812', 4, 'job.submit', 'job 8', '{"name": "ended"}', 'job'),
(23, '2025-10-14 03:26:54.022445', 4, 'job.submit', 'job 9', '{"name": "running"}', 'job'),
(24, '2025-10-14 03:26:57.034535', 5, 'job.submit', 'job 10', '{"name": "waiting"}', 'job'),
(25, '2025-10-14 03:26:57.297766', 4, 'job.submit', 'job 11', '{"name": "larger"}', 'job'),
(26, '2025-10-14 03:26:57.532219', 4, 'job.submit', 'job 12', '{"name": "none large enough"}', 'job'),
(27, '2025-10-14 03:27:04.133393', 4, 'job.submit', 'job 13', '{"name": "held"}', 'job'),
(28, '2025-10-14 03:27:10.307546', 4, 'job.submit', 'job 14', '{"name": "interrupted"}', 'job'),
(29, '2025-10-14 03:27:16.245960', 5, 'job.submit', 'job 15', '{"name": "queued"}', 'job');
INSERT INTO "idempotency_keys" ("user_id", "key", "request_digest", "status", "location", "body", "created_at") VALUES
(4, 'hook', '6f4e94eea695768126416b91667d1b54e9ad458f96ce2380b1ee4699ce6bb354', 201, '/v1/webhooks/1', '{"id": 1, "url": "https://hooks.example/one", "kinds": ["job.failed", "job.succeeded"], "created_at": "2025-10-14T03:25:39.780130Z", "failing_since": null, "disabled_at": null, "disabled_reason": null, "version": 1}', '2025-10-14 03:25:39.797999'),
(4, 'once', '30d3aa2f7a2ae8ba4285994852b9b4f4866a71842f8b730a5f50285faecd785d', 202, '/v1/jobs/1', '{"id": 1, "name": "succeeded", "notes": "The first one.", "owner": "anna", "state": "queued", "reason": null, "stopping": null, "priority": 0, "queue_position": 1, "created_at": "2025-10-14T03:25:41.320972Z", "started_at": null, "finished_at": null, "progress": {"step": 0, "steps": 6, "eta_s": null}, "current_attempt": null, "attempts": 0, "setback": null, "device": null, "model": "efficientdet_d0", "dataset": "shapes", "policy": {"levers": ["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"], "min_batch_size": 1, "min_image_size": 256, "min_backbone": null, "max_attempts": 6, "prefer": "shrink", "plan_ahead": true}, "min_memory_bytes": 0, "asked": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "plan": {"model": "efficientdet_d0", "batch_size": 4, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 6, "learning_rate": 0.0025, "proposals": null, "second_stage_batch": null}, "predicted": {"bytes": 906539200, "low_bytes": 770558320, "high_bytes": 1042520080, "source": "catalogue", "points": 0}, "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet).", "version": 1, "links": {"self": "/v1/jobs/1", "attempts": "/v1/jobs/1/attempts", "metrics": "/v1/jobs/1/metrics", "logs": "/v1/jobs/1/logs", "events": "/v1/jobs/1/events", "artifacts": "/v1/jobs/1/artifacts"}, "config_changes": []}', '2025-10-14 03:25:41.400133');
INSERT INTO "events" ("id", "job_id", "attempt", "kind", "at", "data") VALUES
(1, 1, NULL, 'submitted', '2025-10-14 03:25:41.320972', '{"by": "anna", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(2, 1, 1, 'state', '2025-10-14 03:25:41.429967', '{"state": "running", "device": "box/cpu-0"}'),
(3, 1, 1, 'phase', '2025-10-14 03:25:42.893080', '{"phase": "checking"}'),
(4, 1, 1, 'phase', '2025-10-14 03:25:42.893220', '{"phase": "importing"}'),
(5, 1, 1, 'phase', '2025-10-14 03:25:42.893311', '{"phase": "building"}'),
(6, 1, 1, 'phase', '2025-10-14 03:25:42.893401', '{"phase": "tracing"}'),
(7, 1, 1, 'phase', '2025-10-14 03:25:42.893495', '{"phase": "training", "step": 0, "steps": 6, "resumed": false}'),
(8, 1, 1, 'checkpoint', '2025-10-14 03:25:42.948047', '{"step": 1}'),
(9, 1, 1, 'checkpoint', '2025-10-14 03:25:43.003659', '{"step": 2}'),
(10, 1, 1, 'checkpoint', '2025-10-14 03:25:43.058141', '{"step": 3}'),
(11, 1, 1, 'checkpoint', '2025-10-14 03:25:43.110219', '{"step": 4}'),
(12, 1, 1, 'checkpoint', '2025-10-14 03:25:43.161829', '{"step": 5}'),
(13, 1, 1, 'checkpoint', '2025-10-14 03:25:43.213207', '{"step": 6}'),
(14, 1, 1, 'phase', '2025-10-14 03:25:43.213287', '{"phase": "evaluating", "step": 6}'),
(15, 1, 1, 'eval', '2025-10-14 03:25:43.213347', '{"step": 6, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "images": 1}'),
(16, 1, 1, 'phase', '2025-10-14 03:25:43.213407', '{"phase": "exporting", "step": 6}'),
(17, 1, 1, 'ended', '2025-10-14 03:25:49.212476', '{"diagnosis": "completed", "message": "trained to step 6", "followed_by": "finished"}'),
(18, 1, 1, 'state', '2025-10-14 03:25:49.212476', '{"state": "succeeded", "reason": null}'),
(19, 2, NULL, 'submitted', '2025-10-14 03:25:49.677673', '{"by": "bert", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(20, 2, 1, 'state', '2025-10-14 03:25:49.948400', '{"state": "running", "device": "box/cpu-0"}'),
(21, 2, 1, 'phase', '2025-10-14 03:25:52.102265', '{"phase": "checking"}'),
(22, 2, 1, 'phase', '2025-10-14 03:25:52.102383', '{"phase": "importing"}'),
(23, 2, 1, 'phase', '2025-10-14 03:25:52.102448', '{"phase": "building"}'),
(24, 2, 1, 'phase', '2025-10-14 03:25:52.102520', '{"phase": "tracing"}'),
(25, 2, 1, 'phase', '2025-10-14 03:25:52.102604', '{"phase": "training", "step": 0, "steps": 4, "resumed": false}'),
(26, 2, 1, 'checkpoint', '2025-10-14 03:25:52.153780', '{"step": 1}'),
(27, 2, 1, 'checkpoint', '2025-10-14 03:25:52.208143', '{"step": 2}'),
(28, 2, 1, 'checkpoint', '2025-10-14 03:25:52.272754', '{"step": 3}'),
(29, 2, 1, 'checkpoint', '2025-10-14 03:25:52.339118', '{"step": 4}'),
(30, 2, 1, 'phase', '2025-10-14 03:25:52.339229', '{"phase": "evaluating", "step": 4}'),
(31, 2, 1, 'eval', '2025-10-14 03:25:52.339293', '{"step": 4, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "images": 1}'),
(32, 2, 1, 'phase', '2025-10-14 03:25:52.339352', '{"phase": "exporting", "step": 4}'),
(33, 2, 1, 'ended', '2025-10-14 03:25:58.356537', '{"diagnosis": "completed", "message": "trained to step 4", "followed_by": "finished"}'),
(34, 2, 1, 'state', '2025-10-14 03:25:58.356537', '{"state": "succeeded", "reason": null}'),
(35, 3, NULL, 'submitted', '2025-10-14 03:25:58.594729', '{"by": "anna", "summary": "Starts as asked; predicted to need 2324 MB, from the catalogue (no efficientdet_d1 measured here yet)."}'),
(36, 3, 1, 'state', '2025-10-14 03:25:58.736836', '{"state": "running", "device": "box/cpu-1"}'),
(37, 3, 1, 'phase', '2025-10-14 03:26:00.653896', '{"phase": "checking"}'),
(38, 3, 1, 'phase', '2025-10-14 03:26:00.654070', '{"phase": "importing"}'),
(39, 3, 1, 'phase', '2025-10-14 03:26:00.654156', '{"phase": "building"}'),
(40, 3, 1, 'phase', '2025-10-14 03:26:00.654234', '{"phase": "tracing"}'),
(41, 3, 1, 'ended', '2025-10-14 03:26:05.807166', '{"diagnosis": "too_large", "message": "the device ran out of memory", "followed_by": "Micro-batch 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}'),
(42, 3, 1, 'replanned', '2025-10-14 03:26:05.807166', '{"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "summary": "Micro-batch 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "8", "after": "2", "reason": "batch 8 is kept and computed in pieces of 2: predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time", "what": "batch 8 is kept and computed in pieces of 2", "why": "predicted 738 MB of 1100 MB, from the catalogue (no efficientdet_d1 measured here yet); attempt 1 needed more than 1100 MB", "cost": "steps take longer, and batch normalisation sees 2 images at a time"}]}'),
(43, 3, 1, 'state', '2025-10-14 03:26:05.807166', '{"state": "queued", "reason": null}'),
(44, 3, 2, 'state', '2025-10-14 03:26:06.107214', '{"state": "running", "device": "box/cpu-0"}'),
(45, 3, 2, 'phase', '2025-10-14 03:26:07.524714', '{"phase": "checking"}'),
(46, 3, 2, 'phase', '2025-10-14 03:26:07.524884', '{"phase": "importing"}'),
(47, 3, 2, 'phase', '2025-10-14 03:26:07.524971', '{"phase": "building"}'),
(48, 3, 2, 'phase', '2025-10-14 03:26:07.525051', '{"phase": "tracing"}'),
(49, 3, 2, 'phase', '2025-10-14 03:26:07.525128', '{"phase": "probing"}'),
(50, 3, 2, 'probe', '2025-10-14 03:26:07.525206', '{"chosen": 2, "points": [{"micro_batch": 2, "peak": 314572800}], "limit": 1048576000, "seconds": 0.1, "traces": 1}'),
(51, 3, 2, 'phase', '2025-10-14 03:26:07.525296', '{"phase": "training", "step": 0, "steps": 3, "resumed": false}'),
(52, 3, 2, 'checkpoint', '2025-10-14 03:26:07.548116', '{"step": 1}'),
(53, 3, 2, 'checkpoint', '2025-10-14 03:26:07.571952', '{"step": 2}'),
(54, 3, 2, 'checkpoint', '2025-10-14 03:26:07.599110', '{"step": 3}'),
(55, 3, 2, 'phase', '2025-10-14 03:26:07.599240', '{"phase": "evaluating", "step": 3}'),
(56, 3, 2, 'eval', '2025-10-14 03:26:07.599320', '{"step": 3, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "images": 1}'),
(57, 3, 2, 'phase', '2025-10-14 03:26:07.599399', '{"phase": "exporting", "step": 3}'),
(58, 3, 2, 'ended', '2025-10-14 03:26:12.300019', '{"diagnosis": "completed", "message": "trained to step 3", "followed_by": "finished"}'),
(59, 3, 2, 'state', '2025-10-14 03:26:12.300019', '{"state": "succeeded", "reason": null}'),
(60, 4, NULL, 'submitted', '2025-10-14 03:26:12.711490', '{"by": "anna", "summary": "Starts as asked; predicted to need 2509 MB, from the catalogue (no efficientdet_d2 measured here yet)."}'),
(61, 4, 1, 'state', '2025-10-14 03:26:12.942925', '{"state": "running", "device": "box/cpu-1"}'),
(62, 4, 1, 'phase', '2025-10-14 03:26:14.466134', '{"phase": "checking"}'),
(63, 4, 1, 'phase', '2025-10-14 03:26:14.466245', '{"phase": "importing"}'),
(64, 4, 1, 'phase', '2025-10-14 03:26:14.466312', '{"phase": "building"}'),
(65, 4, 1, 'phase', '2025-10-14 03:26:14.466373', '{"phase": "tracing"}'),
(66, 4, 1, 'ended', '2025-10-14 03:26:19.185154', '{"diagnosis": "too_large", "message": "the device ran out of memory", "followed_by": "Micro-batch 2: predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time."}'),
(67, 4, 1, 'replanned', '2025-10-14 03:26:19.185154', '{"plan": {"model": "efficientdet_d2", "batch_size": 8, "micro_batch": 2, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "summary": "Micro-batch 2: predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "8", "after": "2", "reason": "batch 8 is kept and computed in pieces of 2: predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB; cost: steps take longer, and batch normalisation sees 2 images at a time", "what": "batch 8 is kept and computed in pieces of 2", "why": "predicted 801 MB of 1100 MB, from the catalogue (no efficientdet_d2 measured here yet); attempt 1 needed more than 1100 MB", "cost": "steps take longer, and batch normalisation sees 2 images at a time"}]}'),
(68, 4, 1, 'state', '2025-10-14 03:26:19.185154', '{"state": "queued", "reason": null}'),
(69, 4, 2, 'state', '2025-10-14 03:26:19.419109', '{"state": "running", "device": "box/cpu-0"}'),
(70, 4, 2, 'phase', '2025-10-14 03:26:20.845531', '{"phase": "checking"}'),
(71, 4, 2, 'phase', '2025-10-14 03:26:20.845672', '{"phase": "importing"}'),
(72, 4, 2, 'phase', '2025-10-14 03:26:20.845751', '{"phase": "building"}'),
(73, 4, 2, 'phase', '2025-10-14 03:26:20.845820', '{"phase": "tracing"}'),
(74, 4, 2, 'phase', '2025-10-14 03:26:20.845965', '{"phase": "probing"}'),
(75, 4, 2, 'probe', '2025-10-14 03:26:20.846043', '{"chosen": 1, "points": [{"micro_batch": 2, "peak": null}, {"micro_batch": 1, "peak": null}], "limit": 1048576000, "seconds": 0.1, "traces": 1}'),
(76, 4, 2, 'ended', '2025-10-14 03:26:25.196769', '{"diagnosis": "too_large", "message": "the device ran out of memory", "followed_by": "Micro-batch 4, backbone efficientnet-b1: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost."}'),
(77, 4, 2, 'replanned', '2025-10-14 03:26:25.196769', '{"plan": {"model": "efficientdet_d1", "batch_size": 8, "micro_batch": 4, "precision": "float32", "image_size": [256, 256], "steps": 3, "learning_rate": 0.005, "proposals": null, "second_stage_batch": null}, "summary": "Micro-batch 4, backbone efficientnet-b1: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost.", "changes": [{"lever": "micro_batch", "field": "micro_batch", "before": "1", "after": "4", "reason": "batch 8 is kept and computed in pieces of 4: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "what": "batch 8 is kept and computed in pieces of 4", "why": "predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "cost": null}, {"lever": "backbone", "field": "model", "before": "efficientdet_d2", "after": "efficientdet_d1", "reason": "the backbone changes from efficientnet-b2 to efficientnet-b1 and is trained from the start: predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB; cost: a smaller network, usually less accurate, and the weights learnt so far are lost", "what": "the backbone changes from efficientnet-b2 to efficientnet-b1 and is trained from the start", "why": "predicted 610 MB of 1100 MB, scaled from 2 measurements of efficientdet_d1 here; attempt 2 needed more than 1000 MB", "cost": "a smaller network, usually less accurate, and the weights learnt so far are lost"}]}'),
(78, 4, 2, 'state', '2025-10-14 03:26:25.196769', '{"state": "queued", "reason": null}'),
(79, 4, 3, 'state', '2025-10-14 03:26:25.502333', '{"state": "running", "device": "box/cpu-0"}'),
(80, 4, 3, 'phase', '2025-10-14 03:26:27.453659', '{"phase": "checking"}'),
(81, 4, 3, 'phase', '2025-10-14 03:26:27.453755', '{"phase": "importing"}'),
(82, 4, 3, 'phase', '2025-10-14 03:26:27.453808', '{"phase": "building"}'),
(83, 4, 3, 'phase', '2025-10-14 03:26:27.453889', '{"phase": "tracing"}'),
(84, 4, 3, 'phase', '2025-10-14 03:26:27.453949', '{"phase": "probing"}'),
(85, 4, 3, 'probe', '2025-10-14 03:26:27.454001', '{"chosen": 1, "points": [{"micro_batch": 4, "peak": null}, {"micro_batch": 2, "peak": null}, {"micro_batch": 1, "peak": null}], "limit": 1048576000, "seconds": 0.1, "traces": 1}'),
(86, 4, 3, 'ended', '2025-10-14 03:26:34.177456', '{"diagnosis": "too_large", "message": "the device ran out of memory", "followed_by": "Not retried. All 3 attempts that the policy allows are used. Attempt 3 needed more than 1000 MB. It needs about 633 MB even at your minimums (micro-batch 1, precision float32, image 256\u00d7256, backbone efficientnet-b0, batch 1), from the catalogue (no efficientdet_d0 measured here yet); the largest device has 1100 MB."}'),
(87, 4, 3, 'state', '2025-10-14 03:26:34.177456', '{"state": "failed", "reason": "All 3 attempts that the policy allows are used. Attempt 3 needed more than 1000 MB. It needs about 633 MB even at your minimums (micro-batch 1, precision float32, image 256\u00d7256, backbone efficientnet-b0, batch 1), from the catalogue (no efficientdet_d0 measured here yet); the largest device has 1100 MB."}'),
(88, 5, NULL, 'submitted', '2025-10-14 03:26:34.602363', '{"by": "anna", "summary": "Micro-batch 1: predicted 912 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet); as asked it would need about 3152 MB; cost: steps take longer, and batch normalisation sees 1 image at a time. 31 fields of your pipeline.config changed: config_changes lists each with its reason."}'),
(89, 5, 1, 'state', '2025-10-14 03:26:34.680290', '{"state": "running", "device": "box/cpu-1"}'),
(90, 5, 1, 'phase', '2025-10-14 03:26:36.275789', '{"phase": "checking"}'),
(91, 5, 1, 'phase', '2025-10-14 03:26:36.275955', '{"phase": "importing"}'),
(92, 5, 1, 'phase', '2025-10-14 03:26:36.276038', '{"phase": "building"}'),
(93, 5, 1, 'phase', '2025-10-14 03:26:36.276101', '{"phase": "tracing"}'),
(94, 5, 1, 'phase', '2025-10-14 03:26:36.276172', '{"phase": "training", "step": 0, "steps": 3, "resumed": false}'),
(95, 5, 1, 'checkpoint', '2025-10-14 03:26:36.299709', '{"step": 1}'),
(96, 5, 1, 'checkpoint', '2025-10-14 03:26:36.325074', '{"step": 2}'),
(97, 5, 1, 'checkpoint', '2025-10-14 03:26:36.351061', '{"step": 3}'),
(98, 5, 1, 'phase', '2025-10-14 03:26:36.351153', '{"phase": "evaluating", "step": 3}'),
(99, 5, 1, 'eval', '2025-10-14 03:26:36.351216', '{"step": 3, "metrics": {"DetectionBoxes_Precision/mAP": 0.5}, "images": 1}'),
(100, 5, 1, 'phase', '2025-10-14 03:26:36.351271', '{"phase": "exporting", "step": 3}'),
(101, 5, 1, 'ended', '2025-10-14 03:26:40.776985', '{"diagnosis": "completed", "message": "trained to step 3", "followed_by": "finished"}'),
(102, 5, 1, 'state', '2025-10-14 03:26:40.776985', '{"state": "succeeded", "reason": null}'),
(103, 6, NULL, 'submitted', '2025-10-14 03:26:40.951081', '{"by": "bert", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(104, 6, 1, 'state', '2025-10-14 03:26:41.045731', '{"state": "running", "device": "box/cpu-0"}'),
(105, 6, 1, 'stop_requested', '2025-10-14 03:26:42.710431', '{"stop": "cancel", "by": "bert"}'),
(106, 6, 1, 'phase', '2025-10-14 03:26:42.492102', '{"phase": "checking"}'),
(107, 6, 1, 'phase', '2025-10-14 03:26:42.492238', '{"phase": "importing"}'),
(108, 6, 1, 'phase', '2025-10-14 03:26:42.492320', '{"phase": "building"}'),
(109, 6, 1, 'phase', '2025-10-14 03:26:42.492400', '{"phase": "tracing"}'),
(110, 6, 1, 'phase', '2025-10-14 03:26:42.492483', '{"phase": "training", "step": 0, "steps": 4, "resumed": false}'),
(111, 6, 1, 'checkpoint', '2025-10-14 03:26:42.546348', '{"step": 1}'),
(112, 6, 1, 'checkpoint', '2025-10-14 03:26:42.597720', '{"step": 2}'),
(113, 6, 1, 'ended', '2025-10-14 03:26:47.064777', '{"diagnosis": "interrupted", "message": "stopped on request", "followed_by": "cancelled by its owner"}'),
(114, 6, 1, 'state', '2025-10-14 03:26:47.064777', '{"state": "cancelled", "reason": null}'),
(115, 7, NULL, 'submitted', '2025-10-14 03:26:47.221110', '{"by": "anna", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(116, 7, 1, 'state', '2025-10-14 03:26:47.339167', '{"state": "running", "device": "box/cpu-0"}'),
(117, 7, 1, 'stop_requested', '2025-10-14 03:26:48.656016', '{"stop": "pause", "by": "anna"}'),
(118, 7, 1, 'phase', '2025-10-14 03:26:48.452459', '{"phase": "checking"}'),
(119, 7, 1, 'phase', '2025-10-14 03:26:48.452544', '{"phase": "importing"}'),
(120, 7, 1, 'phase', '2025-10-14 03:26:48.452596', '{"phase": "building"}'),
(121, 7, 1, 'phase', '2025-10-14 03:26:48.452641', '{"phase": "tracing"}'),
(122, 7, 1, 'phase', '2025-10-14 03:26:48.452693', '{"phase": "training", "step": 0, "steps": 8, "resumed": false}'),
(123, 7, 1, 'checkpoint', '2025-10-14 03:26:48.503840', '{"step": 1}'),
(124, 7, 1, 'checkpoint', '2025-10-14 03:26:48.554981', '{"step": 2}'),
(125, 7, 1, 'ended', '2025-10-14 03:26:52.022612', '{"diagnosis": "interrupted", "message": "stopped on request", "followed_by": "paused by its owner"}'),
(126, 7, 1, 'state', '2025-10-14 03:26:52.022612', '{"state": "paused", "reason": null}'),
(127, 8, NULL, 'submitted', '2025-10-14 03:26:52.265812', '{"by": "anna", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(128, 8, 1, 'state', '2025-10-14 03:26:52.350162', '{"state": "running", "device": "box/cpu-0"}'),
(129, 9, NULL, 'submitted', '2025-10-14 03:26:54.022445', '{"by": "anna", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(130, 9, 1, 'state', '2025-10-14 03:26:54.190060', '{"state": "running", "device": "box/cpu-1"}'),
(131, 10, NULL, 'submitted', '2025-10-14 03:26:57.034535', '{"by": "bert", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(132, 11, NULL, 'submitted', '2025-10-14 03:26:57.297766', '{"by": "anna", "summary": "Starts as asked; predicted to need 865 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(133, 12, NULL, 'submitted', '2025-10-14 03:26:57.532219', '{"by": "anna", "summary": "As asked."}'),
(134, 8, 1, 'phase', '2025-10-14 03:26:53.794056', '{"phase": "checking"}'),
(135, 8, 1, 'phase', '2025-10-14 03:26:53.794192', '{"phase": "importing"}'),
(136, 8, 1, 'phase', '2025-10-14 03:26:53.794277', '{"phase": "building"}'),
(137, 8, 1, 'phase', '2025-10-14 03:26:53.794347', '{"phase": "tracing"}'),
(138, 8, 1, 'phase', '2025-10-14 03:26:53.794424', '{"phase": "training", "step": 0, "steps": 6, "resumed": false}'),
(139, 8, 1, 'checkpoint', '2025-10-14 03:26:53.851921', '{"step": 1}'),
(140, 8, 1, 'checkpoint', '2025-10-14 03:26:53.903083', '{"step": 2}'),
(141, 9, 1, 'phase', '2025-10-14 03:26:55.888595', '{"phase": "checking"}'),
(142, 9, 1, 'phase', '2025-10-14 03:26:55.888705', '{"phase": "importing"}'),
(143, 9, 1, 'phase', '2025-10-14 03:26:55.888776', '{"phase": "building"}'),
(144, 9, 1, 'phase', '2025-10-14 03:26:55.888840', '{"phase": "tracing"}'),
(145, 9, 1, 'phase', '2025-10-14 03:26:55.888917', '{"phase": "training", "step": 0, "steps": 40, "resumed": false}'),
(146, 9, 1, 'checkpoint', '2025-10-14 03:26:56.389949', '{"step": 1}'),
(147, 9, 1, 'checkpoint', '2025-10-14 03:26:56.891144', '{"step": 2}'),
(148, 9, 1, 'checkpoint', '2025-10-14 03:27:01.948123', '{"step": 3}'),
(149, 9, 1, 'checkpoint', '2025-10-14 03:27:02.449861', '{"step": 4}'),
(150, 13, NULL, 'submitted', '2025-10-14 03:27:04.133393', '{"by": "anna", "summary": "Starts as asked; predicted to need 293 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(151, 13, 1, 'state', '2025-10-14 03:27:04.464540', '{"state": "running", "device": "box/cpu-2"}'),
(152, 13, 1, 'phase', '2025-10-14 03:27:05.838354', '{"phase": "checking"}'),
(153, 13, 1, 'phase', '2025-10-14 03:27:05.838492', '{"phase": "importing"}'),
(154, 13, 1, 'phase', '2025-10-14 03:27:05.838574', '{"phase": "building"}'),
(155, 13, 1, 'phase', '2025-10-14 03:27:05.838649', '{"phase": "tracing"}'),
(156, 13, 1, 'phase', '2025-10-14 03:27:05.838735', '{"phase": "training", "step": 0, "steps": 6, "resumed": false}'),
(157, 13, 1, 'checkpoint', '2025-10-14 03:27:05.898131', '{"step": 1}'),
(158, 13, 1, 'checkpoint', '2025-10-14 03:27:05.954454', '{"step": 2}'),
(159, 13, 1, 'checkpoint', '2025-10-14 03:27:06.011511', '{"step": 3}'),
(160, 13, 1, 'ended', '2025-10-14 03:27:10.038484', '{"diagnosis": "disk", "message": "the disk is full: No space left on device", "followed_by": "waits for disk space on box; the same plan again, from its checkpoint at step 3 after 60 s"}'),
(161, 13, 1, 'state', '2025-10-14 03:27:10.038484', '{"state": "queued", "reason": "the disk is full: No space left on device: free disk space on box, for example remove old jobs or datasets; the job then continues by itself; retried after 60 s"}'),
(162, 14, NULL, 'submitted', '2025-10-14 03:27:10.307546', '{"by": "anna", "summary": "Starts as asked; predicted to need 293 MB, from the catalogue (no efficientdet_d0 measured here yet)."}'),
(163, 14, 1, 'state', '2025-10-14 03:27:10.577145', '{"state": "running", "device": "box/cpu-2"}'),
(164, 14, 1, 'phase', '2025-10-14 03:27:11.694124', '{"phase": "checking"}'),
(165, 14, 1, 'phase', '2025-10-14 03:27:11.694283', '{"phase": "importing"}'),
(166, 14, 1, 'phase', '2025-10-14 03:27:11.694380', '{"phase": "building"}'),
(167, 14, 1, 'phase', '2025-10-14 03:27:11.694472', '{"phase": "tracing"}'),
(168, 14, 1, 'phase', '2025-10-14 03:27:11.694576', '{"phase": "training", "step": 0, "steps": 6, "resumed": false}'),
(169, 14, 1, 'checkpoint', '2025-10-14 03:27:11.747706', '{"step": 1}'),
(170, 14, 1, 'checkpoint', '2025-10-14 03:27:11.802948', '{"step": 2}'),
(171, 14, 1, 'ended', '2025-10-14 03:27:16.135261', '{"diagnosis": "interrupted", "message": "stopped on request", "followed_by": "the same plan again, from its checkpoint at step 2"}'),
(172, 14, 1, 'state', '2025-10-14 03:27:16.135261', '{"state": "queued", "reason": null}'),
(173, 15, NULL, 'submitted', '2025-10-14 03:27:16.245960', '{"by": "bert", "summary": "Kept as it is: predicted 865 MB of 1100 MB, from the catalogue (no efficientdet_d0 measured here yet)."}');
INSERT INTO "leases" ("device_id", "job_id", "attempt", "token", "host", "boot_id", "created_at", "expires_at") VALUES
('box/cpu-0', 8, 1, 'ab292b306385449aac310c00b0c21ef7', 'box', '00000000-0000-4000-8000-000000000000', '2025-10-14 03:26:52.350162', '2025-10-14 03:27:06.583270'),
('box/cpu-1', 9, 1, '67b2ed0323839ae9d8c27e76e8bd6750', 'box', '00000000-0000-4000-8000-000000000000', '2025-10-14 03:26:54.190060', '2025-10-14 03:27:07.743203');
INSERT INTO "measurements" ("id", "job_id", "attempt", "model", "precision", "micro_batch", "accumulation", "height", "width", "proposals", "second_stage_batch", "device_kind", "software", "peak_bytes", "evaluation_peak_bytes", "host_peak_bytes", "complete", "created_at", "superseded_at", "brief") VALUES
(1, 3, 1, 'efficientdet_d1', 'float32', 8, 1, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1154482176, NULL, NULL, 0, '2025-10-14 03:26:05.807166', NULL, 0),
(2, 3, 2, 'efficientdet_d1', 'float32', 2, 4, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 314572800, NULL, NULL, 1, '2025-10-14 03:26:07.525206', NULL, 0),
(3, 3, 2, 'efficientdet_d1', 'float32', 2, 4, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 314572800, NULL, NULL, 1, '2025-10-14 03:26:12.300019', NULL, 0),
(4, 4, 1, 'efficientdet_d2', 'float32', 8, 1, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1154482176, NULL, NULL, 0, '2025-10-14 03:26:19.185154', NULL, 0),
(5, 4, 2, 'efficientdet_d2', 'float32', 2, 4, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1048576001, NULL, NULL, 0, '2025-10-14 03:26:20.846043', NULL, 0),
(6, 4, 2, 'efficientdet_d2', 'float32', 1, 8, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1048576001, NULL, NULL, 0, '2025-10-14 03:26:20.846043', NULL, 0),
(7, 4, 2, 'efficientdet_d2', 'float32', 1, 8, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1049624576, NULL, NULL, 0, '2025-10-14 03:26:25.196769', NULL, 0),
(8, 4, 3, 'efficientdet_d1', 'float32', 4, 2, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1048576001, NULL, NULL, 0, '2025-10-14 03:26:27.454001', NULL, 0),
(9, 4, 3, 'efficientdet_d1', 'float32', 2, 4, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1048576001, NULL, NULL, 0, '2025-10-14 03:26:27.454001', NULL, 0),
(10, 4, 3, 'efficientdet_d1', 'float32', 1, 8, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1048576001, NULL, NULL, 0, '2025-10-14 03:26:27.454001', NULL, 0),
(11, 4, 3, 'efficientdet_d1', 'float32', 1, 8, 256, 256, NULL, NULL, 'cpu', 'tensorflow 2.20.0', 1049624576, NULL, NULL, 0, '2025-10-14 03:26:34.177456', NULL, 0);
INSERT INTO "metrics" ("job_id", "name", "attempt", "step", "value", "at") VALUES
(1, 'DetectionBoxes_Precision/mAP', 1, 6, 0.5, '2025-10-14 03:25:43.213347'),
(1, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:25:42.947152'),
(1, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:25:43.003057'),
(1, 'Loss/total_loss', 1, 3, 0.3333333333333333, '2025-10-14 03:25:43.054091'),
(1, 'Loss/total_loss', 1, 4, 0.25, '2025-10-14 03:25:43.108545'),
(1, 'Loss/total_loss', 1, 5, 0.2, '2025-10-14 03:25:43.160595'),
(1, 'Loss/total_loss', 1, 6, 0.16666666666666666, '2025-10-14 03:25:43.212167'),
(1, 'device_memory', 1, 1, 0.0, '2025-10-14 03:25:42.947152'),
(1, 'device_memory', 1, 2, 0.0, '2025-10-14 03:25:43.003057'),
(1, 'device_memory', 1, 3, 0.0, '2025-10-14 03:25:43.054091'),
(1, 'device_memory', 1, 4, 0.0, '2025-10-14 03:25:43.108545'),
(1, 'device_memory', 1, 5, 0.0, '2025-10-14 03:25:43.160595'),
(1, 'device_memory', 1, 6, 0.0, '2025-10-14 03:25:43.212167'),
(1, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:25:42.947152'),
(1, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:25:43.003057'),
(1, 'device_memory_peak', 1, 3, 0.0, '2025-10-14 03:25:43.054091'),
(1, 'device_memory_peak', 1, 4, 0.0, '2025-10-14 03:25:43.108545'),
(1, 'device_memory_peak', 1, 5, 0.0, '2025-10-14 03:25:43.160595'),
(1, 'device_memory_peak', 1, 6, 0.0, '2025-10-14 03:25:43.212167'),
(1, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:25:42.947152'),
(1, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:25:43.003057'),
(1, 'host_memory', 1, 3, 10485760.0, '2025-10-14 03:25:43.054091'),
(1, 'host_memory', 1, 4, 10485760.0, '2025-10-14 03:25:43.108545'),
(1, 'host_memory', 1, 5, 10485760.0, '2025-10-14 03:25:43.160595'),
(1, 'host_memory', 1, 6, 10485760.0, '2025-10-14 03:25:43.212167'),
(1, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:25:42.947152'),
(1, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:25:43.003057'),
(1, 'images_per_s', 1, 3, 10.0, '2025-10-14 03:25:43.054091'),
(1, 'images_per_s', 1, 4, 10.0, '2025-10-14 03:25:43.108545'),
(1, 'images_per_s', 1, 5, 10.0, '2025-10-14 03:25:43.160595'),
(1, 'images_per_s', 1, 6, 10.0, '2025-10-14 03:25:43.212167'),
(1, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:25:42.947152'),
(1, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:25:43.003057'),
(1, 'learning_rate', 1, 3, 0.01, '2025-10-14 03:25:43.054091'),
(1, 'learning_rate', 1, 4, 0.01, '2025-10-14 03:25:43.108545'),
(1, 'learning_rate', 1, 5, 0.01, '2025-10-14 03:25:43.160595'),
(1, 'learning_rate', 1, 6, 0.01, '2025-10-14 03:25:43.212167'),
(1, 'step_s', 1, 1, 0.02, '2025-10-14 03:25:42.947152'),
(1, 'step_s', 1, 2, 0.02, '2025-10-14 03:25:43.003057'),
(1, 'step_s', 1, 3, 0.02, '2025-10-14 03:25:43.054091'),
(1, 'step_s', 1, 4, 0.02, '2025-10-14 03:25:43.108545'),
(1, 'step_s', 1, 5, 0.02, '2025-10-14 03:25:43.160595'),
(1, 'step_s', 1, 6, 0.02, '2025-10-14 03:25:43.212167'),
(2, 'DetectionBoxes_Precision/mAP', 1, 4, 0.5, '2025-10-14 03:25:52.339293'),
(2, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:25:52.152960'),
(2, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:25:52.207142'),
(2, 'Loss/total_loss', 1, 3, 0.3333333333333333, '2025-10-14 03:25:52.263139'),
(2, 'Loss/total_loss', 1, 4, 0.25, '2025-10-14 03:25:52.330116'),
(2, 'device_memory', 1, 1, 0.0, '2025-10-14 03:25:52.152960'),
(2, 'device_memory', 1, 2, 0.0, '2025-10-14 03:25:52.207142'),
(2, 'device_memory', 1, 3, 0.0, '2025-10-14 03:25:52.263139'),
(2, 'device_memory', 1, 4, 0.0, '2025-10-14 03:25:52.330116'),
(2, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:25:52.152960'),
(2, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:25:52.207142'),
(2, 'device_memory_peak', 1, 3, 0.0, '2025-10-14 03:25:52.263139'),
(2, 'device_memory_peak', 1, 4, 0.0, '2025-10-14 03:25:52.330116'),
(2, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:25:52.152960'),
(2, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:25:52.207142'),
(2, 'host_memory', 1, 3, 10485760.0, '2025-10-14 03:25:52.263139'),
(2, 'host_memory', 1, 4, 10485760.0, '2025-10-14 03:25:52.330116'),
(2, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:25:52.152960'),
(2, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:25:52.207142'),
(2, 'images_per_s', 1, 3, 10.0, '2025-10-14 03:25:52.263139'),
(2, 'images_per_s', 1, 4, 10.0, '2025-10-14 03:25:52.330116'),
(2, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:25:52.152960'),
(2, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:25:52.207142'),
(2, 'learning_rate', 1, 3, 0.01, '2025-10-14 03:25:52.263139'),
(2, 'learning_rate', 1, 4, 0.01, '2025-10-14 03:25:52.330116'),
(2, 'step_s', 1, 1, 0.02, '2025-10-14 03:25:52.152960'),
(2, 'step_s', 1, 2, 0.02, '2025-10-14 03:25:52.207142'),
(2, 'step_s', 1, 3, 0.02, '2025-10-14 03:25:52.263139'),
(2, 'step_s', 1, 4, 0.02, '2025-10-14 03:25:52.330116'),
(3, 'DetectionBoxes_Precision/mAP', 2, 3, 0.5, '2025-10-14 03:26:07.599320'),
(3, 'Loss/total_loss', 2, 1, 1.0, '2025-10-14 03:26:07.547103'),
(3, 'Loss/total_loss', 2, 2, 0.5, '2025-10-14 03:26:07.571085'),
(3, 'Loss/total_loss', 2, 3, 0.3333333333333333, '2025-10-14 03:26:07.592321'),
(3, 'device_memory', 2, 1, 314572800.0, '2025-10-14 03:26:07.547103'),
(3, 'device_memory', 2, 2, 314572800.0, '2025-10-14 03:26:07.571085'),
(3, 'device_memory', 2, 3, 314572800.0, '2025-10-14 03:26:07.592321'),
(3, 'device_memory_peak', 2, 1, 314572800.0, '2025-10-14 03:26:07.547103'),
(3, 'device_memory_peak', 2, 2, 314572800.0, '2025-10-14 03:26:07.571085'),
(3, 'device_memory_peak', 2, 3, 314572800.0, '2025-10-14 03:26:07.592321'),
(3, 'host_memory', 2, 1, 10485760.0, '2025-10-14 03:26:07.547103'),
(3, 'host_memory', 2, 2, 10485760.0, '2025-10-14 03:26:07.571085'),
(3, 'host_memory', 2, 3, 10485760.0, '2025-10-14 03:26:07.592321'),
(3, 'images_per_s', 2, 1, 10.0, '2025-10-14 03:26:07.547103'),
(3, 'images_per_s', 2, 2, 10.0, '2025-10-14 03:26:07.571085'),
(3, 'images_per_s', 2, 3, 10.0, '2025-10-14 03:26:07.592321'),
(3, 'learning_rate', 2, 1, 0.01, '2025-10-14 03:26:07.547103'),
(3, 'learning_rate', 2, 2, 0.01, '2025-10-14 03:26:07.571085'),
(3, 'learning_rate', 2, 3, 0.01, '2025-10-14 03:26:07.592321'),
(3, 'step_s', 2, 1, 0.02, '2025-10-14 03:26:07.547103'),
(3, 'step_s', 2, 2, 0.02, '2025-10-14 03:26:07.571085'),
(3, 'step_s', 2, 3, 0.02, '2025-10-14 03:26:07.592321'),
(5, 'DetectionBoxes_Precision/mAP', 1, 3, 0.5, '2025-10-14 03:26:36.351216'),
(5, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:26:36.299145'),
(5, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:26:36.324461'),
(5, 'Loss/total_loss', 1, 3, 0.3333333333333333, '2025-10-14 03:26:36.347088'),
(5, 'device_memory', 1, 1, 0.0, '2025-10-14 03:26:36.299145'),
(5, 'device_memory', 1, 2, 0.0, '2025-10-14 03:26:36.324461'),
(5, 'device_memory', 1, 3, 0.0, '2025-10-14 03:26:36.347088'),
(5, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:26:36.299145'),
(5, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:26:36.324461'),
(5, 'device_memory_peak', 1, 3, 0.0, '2025-10-14 03:26:36.347088'),
(5, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:26:36.299145'),
(5, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:26:36.324461'),
(5, 'host_memory', 1, 3, 10485760.0, '2025-10-14 03:26:36.347088'),
(5, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:26:36.299145'),
(5, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:26:36.324461'),
(5, 'images_per_s', 1, 3, 10.0, '2025-10-14 03:26:36.347088'),
(5, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:26:36.299145'),
(5, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:26:36.324461'),
(5, 'learning_rate', 1, 3, 0.01, '2025-10-14 03:26:36.347088'),
(5, 'step_s', 1, 1, 0.02, '2025-10-14 03:26:36.299145'),
(5, 'step_s', 1, 2, 0.02, '2025-10-14 03:26:36.324461'),
(5, 'step_s', 1, 3, 0.02, '2025-10-14 03:26:36.347088'),
(6, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:26:42.545471'),
(6, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:26:42.596686'),
(6, 'device_memory', 1, 1, 0.0, '2025-10-14 03:26:42.545471'),
(6, 'device_memory', 1, 2, 0.0, '2025-10-14 03:26:42.596686'),
(6, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:26:42.545471'),
(6, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:26:42.596686'),
(6, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:26:42.545471'),
(6, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:26:42.596686'),
(6, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:26:42.545471'),
(6, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:26:42.596686'),
(6, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:26:42.545471'),
(6, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:26:42.596686'),
(6, 'step_s', 1, 1, 0.02, '2025-10-14 03:26:42.545471'),
(6, 'step_s', 1, 2, 0.02, '2025-10-14 03:26:42.596686'),
(7, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:26:48.503069'),
(7, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:26:48.554172'),
(7, 'device_memory', 1, 1, 0.0, '2025-10-14 03:26:48.503069'),
(7, 'device_memory', 1, 2, 0.0, '2025-10-14 03:26:48.554172'),
(7, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:26:48.503069'),
(7, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:26:48.554172'),
(7, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:26:48.503069'),
(7, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:26:48.554172'),
(7, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:26:48.503069'),
(7, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:26:48.554172'),
(7, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:26:48.503069'),
(7, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:26:48.554172'),
(7, 'step_s', 1, 1, 0.02, '2025-10-14 03:26:48.503069'),
(7, 'step_s', 1, 2, 0.02, '2025-10-14 03:26:48.554172'),
(8, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:26:53.851281'),
(8, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:26:53.902302'),
(8, 'device_memory', 1, 1, 0.0, '2025-10-14 03:26:53.851281'),
(8, 'device_memory', 1, 2, 0.0, '2025-10-14 03:26:53.902302'),
(8, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:26:53.851281'),
(8, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:26:53.902302'),
(8, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:26:53.851281'),
(8, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:26:53.902302'),
(8, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:26:53.851281'),
(8, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:26:53.902302'),
(8, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:26:53.851281'),
(8, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:26:53.902302'),
(8, 'step_s', 1, 1, 0.02, '2025-10-14 03:26:53.851281'),
(8, 'step_s', 1, 2, 0.02, '2025-10-14 03:26:53.902302'),
(9, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:26:56.389216'),
(9, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:26:56.890326'),
(9, 'Loss/total_loss', 1, 3, 0.3333333333333333, '2025-10-14 03:27:01.945048'),
(9, 'Loss/total_loss', 1, 4, 0.25, '2025-10-14 03:27:02.448536'),
(9, 'device_memory', 1, 1, 0.0, '2025-10-14 03:26:56.389216'),
(9, 'device_memory', 1, 2, 0.0, '2025-10-14 03:26:56.890326'),
(9, 'device_memory', 1, 3, 0.0, '2025-10-14 03:27:01.945048'),
(9, 'device_memory', 1, 4, 0.0, '2025-10-14 03:27:02.448536'),
(9, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:26:56.389216'),
(9, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:26:56.890326'),
(9, 'device_memory_peak', 1, 3, 0.0, '2025-10-14 03:27:01.945048'),
(9, 'device_memory_peak', 1, 4, 0.0, '2025-10-14 03:27:02.448536'),
(9, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:26:56.389216'),
(9, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:26:56.890326'),
(9, 'host_memory', 1, 3, 10485760.0, '2025-10-14 03:27:01.945048'),
(9, 'host_memory', 1, 4, 10485760.0, '2025-10-14 03:27:02.448536'),
(9, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:26:56.389216'),
(9, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:26:56.890326'),
(9, 'images_per_s', 1, 3, 10.0, '2025-10-14 03:27:01.945048'),
(9, 'images_per_s', 1, 4, 10.0, '2025-10-14 03:27:02.448536'),
(9, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:26:56.389216'),
(9, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:26:56.890326'),
(9, 'learning_rate', 1, 3, 0.01, '2025-10-14 03:27:01.945048'),
(9, 'learning_rate', 1, 4, 0.01, '2025-10-14 03:27:02.448536'),
(9, 'step_s', 1, 1, 0.02, '2025-10-14 03:26:56.389216'),
(9, 'step_s', 1, 2, 0.02, '2025-10-14 03:26:56.890326'),
(9, 'step_s', 1, 3, 0.02, '2025-10-14 03:27:01.945048'),
(9, 'step_s', 1, 4, 0.02, '2025-10-14 03:27:02.448536'),
(13, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:27:05.889164'),
(13, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:27:05.948517'),
(13, 'Loss/total_loss', 1, 3, 0.3333333333333333, '2025-10-14 03:27:06.004837'),
(13, 'device_memory', 1, 1, 0.0, '2025-10-14 03:27:05.889164'),
(13, 'device_memory', 1, 2, 0.0, '2025-10-14 03:27:05.948517'),
(13, 'device_memory', 1, 3, 0.0, '2025-10-14 03:27:06.004837'),
(13, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:27:05.889164'),
(13, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:27:05.948517'),
(13, 'device_memory_peak', 1, 3, 0.0, '2025-10-14 03:27:06.004837'),
(13, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:27:05.889164'),
(13, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:27:05.948517'),
(13, 'host_memory', 1, 3, 10485760.0, '2025-10-14 03:27:06.004837'),
(13, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:27:05.889164'),
(13, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:27:05.948517'),
(13, 'images_per_s', 1, 3, 10.0, '2025-10-14 03:27:06.004837'),
(13, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:27:05.889164'),
(13, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:27:05.948517'),
(13, 'learning_rate', 1, 3, 0.01, '2025-10-14 03:27:06.004837'),
(13, 'step_s', 1, 1, 0.02, '2025-10-14 03:27:05.889164'),
(13, 'step_s', 1, 2, 0.02, '2025-10-14 03:27:05.948517'),
(13, 'step_s', 1, 3, 0.02, '2025-10-14 03:27:06.004837'),
(14, 'Loss/total_loss', 1, 1, 1.0, '2025-10-14 03:27:11.744950'),
(14, 'Loss/total_loss', 1, 2, 0.5, '2025-10-14 03:27:11.798080'),
(14, 'device_memory', 1, 1, 0.0, '2025-10-14 03:27:11.744950'),
(14, 'device_memory', 1, 2, 0.0, '2025-10-14 03:27:11.798080'),
(14, 'device_memory_peak', 1, 1, 0.0, '2025-10-14 03:27:11.744950'),
(14, 'device_memory_peak', 1, 2, 0.0, '2025-10-14 03:27:11.798080'),
(14, 'host_memory', 1, 1, 10485760.0, '2025-10-14 03:27:11.744950'),
(14, 'host_memory', 1, 2, 10485760.0, '2025-10-14 03:27:11.798080'),
(14, 'images_per_s', 1, 1, 10.0, '2025-10-14 03:27:11.744950'),
(14, 'images_per_s', 1, 2, 10.0, '2025-10-14 03:27:11.798080'),
(14, 'learning_rate', 1, 1, 0.01, '2025-10-14 03:27:11.744950'),
(14, 'learning_rate', 1, 2, 0.01, '2025-10-14 03:27:11.798080'),
(14, 'step_s', 1, 1, 0.02, '2025-10-14 03:27:11.744950'),
(14, 'step_s', 1, 2, 0.02, '2025-10-14 03:27:11.798080');
INSERT INTO "device_use" ("user_id", "day", "seconds") VALUES
(4, 20375, 63.65285611152649),
(5, 20375, 14.427182912826538);
INSERT INTO "webhooks" ("id", "user_id", "url", "kinds", "secret", "version", "created_at", "failing_since", "disabled_at", "disabled_reason") VALUES
(1, 4, 'https://hooks.example/one', '["job.failed", "job.succeeded"]', 'whsec_kw3v9DpWJ+1aRWD2Ti6yVRQMjPw7hhPEjTxRn5cYoqY=', 1, '2025-10-14 03:25:39.780130', NULL, NULL, NULL);
INSERT INTO "deliveries" ("id", "webhook_id", "message_id", "kind", "job_id", "body", "created_at", "tries", "next_at", "sent_at", "status", "error") VALUES
(1, 1, 'msg_13fc8117aa8a5fc3e83708c2e1199492', 'job.succeeded', 1, '{"type":"job.succeeded","timestamp":"2025-10-14T03:25:49.212476Z","data":{"job":{"id":1,"name":"succeeded","owner":"anna","state":"succeeded","reason":null,"model":"efficientdet_d0","dataset":"shapes","step":6,"steps":6,"attempts":1,"link":"/v1/jobs/1"},"attempt":1,"diagnosis":"completed","message":"trained to step 6","followed_by":"finished"}}', '2025-10-14 03:25:49.212476', 0, '2025-10-14 03:25:49.212476', NULL, NULL, NULL),
(2, 1, 'msg_d138427eb0903be1ba10a385caa0dfca', 'job.succeeded', 3, '{"type":"job.succeeded","timestamp":"2025-10-14T03:26:12.300019Z","data":{"job":{"id":3,"name":"smaller","owner":"anna","state":"succeeded","reason":null,"model":"efficientdet_d1","dataset":"shapes","step":3,"steps":3,"attempts":2,"link":"/v1/jobs/3"},"attempt":2,"diagnosis":"completed","message":"trained to step 3","followed_by":"finished"}}', '2025-10-14 03:26:12.300019', 0, '2025-10-14 03:26:12.300019', NULL, NULL, NULL),
(3, 1, 'msg_339db2570938db9cf874627fef2d9106', 'job.failed', 4, '{"type":"job.failed","timestamp":"2025-10-14T03:26:34.177456Z","data":{"job":{"id":4,"name":"failed","owner":"anna","state":"failed","reason":"All 3 attempts that the policy allows are used. Attempt 3 needed more than 1000 MB. It needs about 633 MB even at your minimums (micro-batch 1, precision float32, image 256\u00d7256, backbone efficientnet-b0, batch 1), from the catalogue (no efficientdet_d0 measured here yet); the largest device has 1100 MB.","model":"efficientdet_d2","dataset":"shapes","step":0,"steps":3,"attempts":3,"link":"/v1/jobs/4"},"attempt":3,"diagnosis":"too_large","message":"the device ran out of memory","followed_by":"Not retried. All 3 attempts that the policy allows are used. Attempt 3 needed more than 1000 MB. It needs about 633 MB even at your minimums (micro-batch 1, precision float32, image 256\u00d7256, backbone efficientnet-b0, batch 1), from the catalogue (no efficientdet_d0 measured here yet); the largest device has 1100 MB."}}', '2025-10-14 03:26:34.177456', 0, '2025-10-14 03:26:34.177456', NULL, NULL, NULL),
(4, 1, 'msg_9f22ecc1d4a3aea0c6bd4e16ef4e5614', 'job.succeeded', 5, '{"type":"job.succeeded","timestamp":"2025-10-14T03:26:40.776985Z","data":{"job":{"id":5,"name":"own config","owner":"anna","state":"succeeded","reason":null,"model":"efficientdet_d0","dataset":"shapes","step":3,"steps":3,"attempts":1,"link":"/v1/jobs/5"},"attempt":1,"diagnosis":"completed","message":"trained to step 3","followed_by":"finished"}}', '2025-10-14 03:26:40.776985', 0, '2025-10-14 03:26:40.776985', NULL, NULL, NULL);
INSERT INTO "device_history" ("device_id", "at", "total_bytes", "ours_bytes", "others_bytes", "utilisation", "temperature", "job_id") VALUES
('box/cpu-0', '2025-10-14 03:25:41.087356', 1048576000, 0, 0, NULL, NULL, NULL),
('box/cpu-0', '2025-10-14 03:26:01.530405', 1048576000, 0, 0, NULL, NULL, NULL),
('box/cpu-0', '2025-10-14 03:26:12.300019', 1048576000, 314572800, 0, NULL, NULL, 3),
('box/cpu-0', '2025-10-14 03:26:25.196769', 1048576000, 1048576000, 0, NULL, NULL, 4),
('box/cpu-0', '2025-10-14 03:26:34.177456', 1048576000, 1048576000, 0, NULL, NULL, 4),
('box/cpu-0', '2025-10-14 03:26:54.727939', 1048576000, 0, 0, NULL, NULL, 8),
('box/cpu-1', '2025-10-14 03:25:41.087356', 1153433600, 0, 0, NULL, NULL, NULL),
('box/cpu-1', '2025-10-14 03:26:01.530405', 1153433600, 0, 0, NULL, NULL, 3),
('box/cpu-1', '2025-10-14 03:26:05.807166', 1153433600, 1153433600, 0, NULL, NULL, 3),
('box/cpu-1', '2025-10-14 03:26:19.185154', 1153433600, 1153433600, 0, NULL, NULL, 4),
('box/cpu-1', '2025-10-14 03:26:39.384809', 1153433600, 0, 0, NULL, NULL, 5),
('box/cpu-1', '2025-10-14 03:27:04.443438', 1153433600, 0, 0, NULL, NULL, 9),
('box/cpu-2', '2025-10-14 03:25:41.087356', 125829120, 0, 0, NULL, NULL, NULL),
('box/cpu-2', '2025-10-14 03:26:01.530405', 125829120, 0, 0, NULL, NULL, NULL),
('box/cpu-2', '2025-10-14 03:26:21.731719', 125829120, 0, 0, NULL, NULL, NULL),
('box/cpu-2', '2025-10-14 03:26:41.813199', 125829120, 0, 0, NULL, NULL, NULL),
('box/cpu-2', '2025-10-14 03:27:04.443438', 125829120, 0, 0, NULL, NULL, NULL);
INSERT INTO "metric_blocks" ("job_id", "width", "name", "attempt", "number", "first_step", "last_step", "count", "total", "low", "high") VALUES
(1, 4, 'DetectionBoxes_Precision/mAP', 1, 1, 6, 6, 1, 0.5, 0.5, 0.5),
(1, 4, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(1, 4, 'Loss/total_loss', 1, 1, 4, 6, 3, 0.6166666666666667, 0.16666666666666666, 0.25),
(1, 4, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(1, 4, 'device_memory', 1, 1, 4, 6, 3, 0.0, 0.0, 0.0),
(1, 4, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(1, 4, 'device_memory_peak', 1, 1, 4, 6, 3, 0.0, 0.0, 0.0),
(1, 4, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(1, 4, 'host_memory', 1, 1, 4, 6, 3, 31457280.0, 10485760.0, 10485760.0),
(1, 4, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(1, 4, 'images_per_s', 1, 1, 4, 6, 3, 30.0, 10.0, 10.0),
(1, 4, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(1, 4, 'learning_rate', 1, 1, 4, 6, 3, 0.03, 0.01, 0.01),
(1, 4, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(1, 4, 'step_s', 1, 1, 4, 6, 3, 0.06, 0.02, 0.02),
(1, 16, 'DetectionBoxes_Precision/mAP', 1, 0, 6, 6, 1, 0.5, 0.5, 0.5),
(1, 16, 'Loss/total_loss', 1, 0, 1, 6, 6, 2.45, 0.16666666666666666, 1.0),
(1, 16, 'device_memory', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 16, 'device_memory_peak', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 16, 'host_memory', 1, 0, 1, 6, 6, 62914560.0, 10485760.0, 10485760.0),
(1, 16, 'images_per_s', 1, 0, 1, 6, 6, 60.0, 10.0, 10.0),
(1, 16, 'learning_rate', 1, 0, 1, 6, 6, 0.06, 0.01, 0.01),
(1, 16, 'step_s', 1, 0, 1, 6, 6, 0.12, 0.02, 0.02),
(1, 64, 'DetectionBoxes_Precision/mAP', 1, 0, 6, 6, 1, 0.5, 0.5, 0.5),
(1, 64, 'Loss/total_loss', 1, 0, 1, 6, 6, 2.45, 0.16666666666666666, 1.0),
(1, 64, 'device_memory', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 64, 'device_memory_peak', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 64, 'host_memory', 1, 0, 1, 6, 6, 62914560.0, 10485760.0, 10485760.0),
(1, 64, 'images_per_s', 1, 0, 1, 6, 6, 60.0, 10.0, 10.0),
(1, 64, 'learning_rate', 1, 0, 1, 6, 6, 0.06, 0.01, 0.01),
(1, 64, 'step_s', 1, 0, 1, 6, 6, 0.12, 0.02, 0.02),
(1, 256, 'DetectionBoxes_Precision/mAP', 1, 0, 6, 6, 1, 0.5, 0.5, 0.5),
(1, 256, 'Loss/total_loss', 1, 0, 1, 6, 6, 2.45, 0.16666666666666666, 1.0),
(1, 256, 'device_memory', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 256, 'device_memory_peak', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 256, 'host_memory', 1, 0, 1, 6, 6, 62914560.0, 10485760.0, 10485760.0),
(1, 256, 'images_per_s', 1, 0, 1, 6, 6, 60.0, 10.0, 10.0),
(1, 256, 'learning_rate', 1, 0, 1, 6, 6, 0.06, 0.01, 0.01),
(1, 256, 'step_s', 1, 0, 1, 6, 6, 0.12, 0.02, 0.02),
(1, 1024, 'DetectionBoxes_Precision/mAP', 1, 0, 6, 6, 1, 0.5, 0.5, 0.5),
(1, 1024, 'Loss/total_loss', 1, 0, 1, 6, 6, 2.45, 0.16666666666666666, 1.0),
(1, 1024, 'device_memory', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 1024, 'device_memory_peak', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 1024, 'host_memory', 1, 0, 1, 6, 6, 62914560.0, 10485760.0, 10485760.0),
(1, 1024, 'images_per_s', 1, 0, 1, 6, 6, 60.0, 10.0, 10.0),
(1, 1024, 'learning_rate', 1, 0, 1, 6, 6, 0.06, 0.01, 0.01),
(1, 1024, 'step_s', 1, 0, 1, 6, 6, 0.12, 0.02, 0.02),
(1, 4096, 'DetectionBoxes_Precision/mAP', 1, 0, 6, 6, 1, 0.5, 0.5, 0.5),
(1, 4096, 'Loss/total_loss', 1, 0, 1, 6, 6, 2.45, 0.16666666666666666, 1.0),
(1, 4096, 'device_memory', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 4096, 'device_memory_peak', 1, 0, 1, 6, 6, 0.0, 0.0, 0.0),
(1, 4096, 'host_memory', 1, 0, 1, 6, 6, 62914560.0, 10485760.0, 10485760.0),
(1, 4096, 'images_per_s', 1, 0, 1, 6, 6, 60.0, 10.0, 10.0),
(1, 4096, 'learning_rate', 1, 0, 1, 6, 6, 0.06, 0.01, 0.01),
(1, 4096, 'step_s', 1, 0, 1, 6, 6, 0.12, 0.02, 0.02),
(2, 4, 'DetectionBoxes_Precision/mAP', 1, 1, 4, 4, 1, 0.5, 0.5, 0.5),
(2, 4, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(2, 4, 'Loss/total_loss', 1, 1, 4, 4, 1, 0.25, 0.25, 0.25),
(2, 4, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(2, 4, 'device_memory', 1, 1, 4, 4, 1, 0.0, 0.0, 0.0),
(2, 4, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(2, 4, 'device_memory_peak', 1, 1, 4, 4, 1, 0.0, 0.0, 0.0),
(2, 4, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(2, 4, 'host_memory', 1, 1, 4, 4, 1, 10485760.0, 10485760.0, 10485760.0),
(2, 4, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(2, 4, 'images_per_s', 1, 1, 4, 4, 1, 10.0, 10.0, 10.0),
(2, 4, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(2, 4, 'learning_rate', 1, 1, 4, 4, 1, 0.01, 0.01, 0.01),
(2, 4, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(2, 4, 'step_s', 1, 1, 4, 4, 1, 0.02, 0.02, 0.02),
(2, 16, 'DetectionBoxes_Precision/mAP', 1, 0, 4, 4, 1, 0.5, 0.5, 0.5),
(2, 16, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(2, 16, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 16, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 16, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(2, 16, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(2, 16, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(2, 16, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(2, 64, 'DetectionBoxes_Precision/mAP', 1, 0, 4, 4, 1, 0.5, 0.5, 0.5),
(2, 64, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(2, 64, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 64, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 64, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(2, 64, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(2, 64, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(2, 64, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(2, 256, 'DetectionBoxes_Precision/mAP', 1, 0, 4, 4, 1, 0.5, 0.5, 0.5),
(2, 256, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(2, 256, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 256, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 256, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(2, 256, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(2, 256, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(2, 256, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(2, 1024, 'DetectionBoxes_Precision/mAP', 1, 0, 4, 4, 1, 0.5, 0.5, 0.5),
(2, 1024, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(2, 1024, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 1024, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 1024, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(2, 1024, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(2, 1024, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(2, 1024, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(2, 4096, 'DetectionBoxes_Precision/mAP', 1, 0, 4, 4, 1, 0.5, 0.5, 0.5),
(2, 4096, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(2, 4096, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 4096, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(2, 4096, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(2, 4096, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(2, 4096, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(2, 4096, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(3, 4, 'DetectionBoxes_Precision/mAP', 2, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(3, 4, 'Loss/total_loss', 2, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(3, 4, 'device_memory', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 4, 'device_memory_peak', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 4, 'host_memory', 2, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(3, 4, 'images_per_s', 2, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(3, 4, 'learning_rate', 2, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(3, 4, 'step_s', 2, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(3, 16, 'DetectionBoxes_Precision/mAP', 2, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(3, 16, 'Loss/total_loss', 2, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(3, 16, 'device_memory', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 16, 'device_memory_peak', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 16, 'host_memory', 2, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(3, 16, 'images_per_s', 2, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(3, 16, 'learning_rate', 2, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(3, 16, 'step_s', 2, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(3, 64, 'DetectionBoxes_Precision/mAP', 2, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(3, 64, 'Loss/total_loss', 2, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(3, 64, 'device_memory', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 64, 'device_memory_peak', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 64, 'host_memory', 2, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(3, 64, 'images_per_s', 2, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(3, 64, 'learning_rate', 2, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(3, 64, 'step_s', 2, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(3, 256, 'DetectionBoxes_Precision/mAP', 2, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(3, 256, 'Loss/total_loss', 2, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(3, 256, 'device_memory', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 256, 'device_memory_peak', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 256, 'host_memory', 2, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(3, 256, 'images_per_s', 2, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(3, 256, 'learning_rate', 2, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(3, 256, 'step_s', 2, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(3, 1024, 'DetectionBoxes_Precision/mAP', 2, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(3, 1024, 'Loss/total_loss', 2, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(3, 1024, 'device_memory', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 1024, 'device_memory_peak', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 1024, 'host_memory', 2, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(3, 1024, 'images_per_s', 2, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(3, 1024, 'learning_rate', 2, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(3, 1024, 'step_s', 2, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(3, 4096, 'DetectionBoxes_Precision/mAP', 2, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(3, 4096, 'Loss/total_loss', 2, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(3, 4096, 'device_memory', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 4096, 'device_memory_peak', 2, 0, 1, 3, 3, 943718400.0, 314572800.0, 314572800.0),
(3, 4096, 'host_memory', 2, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(3, 4096, 'images_per_s', 2, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(3, 4096, 'learning_rate', 2, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(3, 4096, 'step_s', 2, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(5, 4, 'DetectionBoxes_Precision/mAP', 1, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(5, 4, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(5, 4, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 4, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 4, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(5, 4, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(5, 4, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(5, 4, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(5, 16, 'DetectionBoxes_Precision/mAP', 1, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(5, 16, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(5, 16, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 16, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 16, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(5, 16, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(5, 16, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(5, 16, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(5, 64, 'DetectionBoxes_Precision/mAP', 1, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(5, 64, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(5, 64, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 64, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 64, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(5, 64, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(5, 64, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(5, 64, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(5, 256, 'DetectionBoxes_Precision/mAP', 1, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(5, 256, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(5, 256, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 256, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 256, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(5, 256, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(5, 256, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(5, 256, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(5, 1024, 'DetectionBoxes_Precision/mAP', 1, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(5, 1024, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(5, 1024, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 1024, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 1024, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(5, 1024, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(5, 1024, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(5, 1024, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(5, 4096, 'DetectionBoxes_Precision/mAP', 1, 0, 3, 3, 1, 0.5, 0.5, 0.5),
(5, 4096, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(5, 4096, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 4096, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(5, 4096, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(5, 4096, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(5, 4096, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(5, 4096, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(6, 4, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(6, 4, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 4, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 4, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(6, 4, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(6, 4, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(6, 4, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(6, 16, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(6, 16, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 16, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 16, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(6, 16, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(6, 16, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(6, 16, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(6, 64, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(6, 64, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 64, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 64, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(6, 64, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(6, 64, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(6, 64, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(6, 256, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(6, 256, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 256, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 256, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(6, 256, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(6, 256, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(6, 256, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(6, 1024, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(6, 1024, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 1024, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 1024, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(6, 1024, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(6, 1024, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(6, 1024, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(6, 4096, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(6, 4096, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 4096, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(6, 4096, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(6, 4096, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(6, 4096, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(6, 4096, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(7, 4, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(7, 4, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 4, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 4, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(7, 4, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(7, 4, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(7, 4, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(7, 16, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(7, 16, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 16, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 16, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(7, 16, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(7, 16, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(7, 16, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(7, 64, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(7, 64, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 64, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 64, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(7, 64, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(7, 64, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(7, 64, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(7, 256, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(7, 256, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 256, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 256, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(7, 256, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(7, 256, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(7, 256, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(7, 1024, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(7, 1024, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 1024, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 1024, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(7, 1024, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(7, 1024, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(7, 1024, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(7, 4096, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(7, 4096, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 4096, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(7, 4096, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(7, 4096, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(7, 4096, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(7, 4096, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(8, 4, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(8, 4, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 4, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 4, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(8, 4, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(8, 4, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(8, 4, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(8, 16, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(8, 16, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 16, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 16, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(8, 16, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(8, 16, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(8, 16, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(8, 64, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(8, 64, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 64, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 64, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(8, 64, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(8, 64, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(8, 64, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(8, 256, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(8, 256, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 256, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 256, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(8, 256, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(8, 256, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(8, 256, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(8, 1024, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(8, 1024, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 1024, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 1024, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(8, 1024, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(8, 1024, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(8, 1024, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(8, 4096, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(8, 4096, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 4096, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(8, 4096, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(8, 4096, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(8, 4096, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(8, 4096, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(9, 4, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(9, 4, 'Loss/total_loss', 1, 1, 4, 4, 1, 0.25, 0.25, 0.25),
(9, 4, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(9, 4, 'device_memory', 1, 1, 4, 4, 1, 0.0, 0.0, 0.0),
(9, 4, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(9, 4, 'device_memory_peak', 1, 1, 4, 4, 1, 0.0, 0.0, 0.0),
(9, 4, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(9, 4, 'host_memory', 1, 1, 4, 4, 1, 10485760.0, 10485760.0, 10485760.0),
(9, 4, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(9, 4, 'images_per_s', 1, 1, 4, 4, 1, 10.0, 10.0, 10.0),
(9, 4, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(9, 4, 'learning_rate', 1, 1, 4, 4, 1, 0.01, 0.01, 0.01),
(9, 4, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(9, 4, 'step_s', 1, 1, 4, 4, 1, 0.02, 0.02, 0.02),
(9, 16, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(9, 16, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 16, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 16, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(9, 16, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(9, 16, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(9, 16, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(9, 64, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(9, 64, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 64, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 64, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(9, 64, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(9, 64, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(9, 64, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(9, 256, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(9, 256, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 256, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 256, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(9, 256, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(9, 256, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(9, 256, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(9, 1024, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(9, 1024, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 1024, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 1024, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(9, 1024, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(9, 1024, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(9, 1024, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(9, 4096, 'Loss/total_loss', 1, 0, 1, 4, 4, 2.083333333333333, 0.25, 1.0),
(9, 4096, 'device_memory', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 4096, 'device_memory_peak', 1, 0, 1, 4, 4, 0.0, 0.0, 0.0),
(9, 4096, 'host_memory', 1, 0, 1, 4, 4, 41943040.0, 10485760.0, 10485760.0),
(9, 4096, 'images_per_s', 1, 0, 1, 4, 4, 40.0, 10.0, 10.0),
(9, 4096, 'learning_rate', 1, 0, 1, 4, 4, 0.04, 0.01, 0.01),
(9, 4096, 'step_s', 1, 0, 1, 4, 4, 0.08, 0.02, 0.02),
(13, 4, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(13, 4, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 4, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 4, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(13, 4, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(13, 4, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(13, 4, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(13, 16, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(13, 16, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 16, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 16, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(13, 16, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(13, 16, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(13, 16, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(13, 64, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(13, 64, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 64, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 64, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(13, 64, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(13, 64, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(13, 64, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(13, 256, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(13, 256, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 256, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 256, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(13, 256, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(13, 256, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(13, 256, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(13, 1024, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(13, 1024, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 1024, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 1024, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(13, 1024, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(13, 1024, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(13, 1024, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(13, 4096, 'Loss/total_loss', 1, 0, 1, 3, 3, 1.8333333333333333, 0.3333333333333333, 1.0),
(13, 4096, 'device_memory', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 4096, 'device_memory_peak', 1, 0, 1, 3, 3, 0.0, 0.0, 0.0),
(13, 4096, 'host_memory', 1, 0, 1, 3, 3, 31457280.0, 10485760.0, 10485760.0),
(13, 4096, 'images_per_s', 1, 0, 1, 3, 3, 30.0, 10.0, 10.0),
(13, 4096, 'learning_rate', 1, 0, 1, 3, 3, 0.03, 0.01, 0.01),
(13, 4096, 'step_s', 1, 0, 1, 3, 3, 0.06, 0.02, 0.02),
(14, 4, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(14, 4, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 4, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 4, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(14, 4, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(14, 4, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(14, 4, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(14, 16, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(14, 16, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 16, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 16, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(14, 16, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(14, 16, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(14, 16, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(14, 64, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(14, 64, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 64, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 64, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(14, 64, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(14, 64, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(14, 64, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(14, 256, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(14, 256, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 256, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 256, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(14, 256, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(14, 256, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(14, 256, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(14, 1024, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(14, 1024, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 1024, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 1024, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(14, 1024, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(14, 1024, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(14, 1024, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02),
(14, 4096, 'Loss/total_loss', 1, 0, 1, 2, 2, 1.5, 0.5, 1.0),
(14, 4096, 'device_memory', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 4096, 'device_memory_peak', 1, 0, 1, 2, 2, 0.0, 0.0, 0.0),
(14, 4096, 'host_memory', 1, 0, 1, 2, 2, 20971520.0, 10485760.0, 10485760.0),
(14, 4096, 'images_per_s', 1, 0, 1, 2, 2, 20.0, 10.0, 10.0),
(14, 4096, 'learning_rate', 1, 0, 1, 2, 2, 0.02, 0.01, 0.01),
(14, 4096, 'step_s', 1, 0, 1, 2, 2, 0.04, 0.02, 0.02);
