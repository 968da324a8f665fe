"""Text of the script that measures with TensorFlow."""

BACKEND = '''
import tensorflow as tf

ON_CARD = bool(tf.config.list_physical_devices("GPU"))
BUDGET = 10.0
TYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16"}
for _card in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(_card, True)


def device(quick):
    found = {"kind": "cuda" if ON_CARD else "cpu", "framework": "TensorFlow"}
    found["framework_version"] = tf.__version__
    if ON_CARD:
        card = tf.config.list_physical_devices("GPU")[0]
        found["name"] = tf.config.experimental.get_device_details(card).get("device_name", "")
    return found


def run(call):
    """A call that ends when the card has finished: the last value is brought to the host."""
    last = [None]

    def once():
        last[0] = call()

    def wait():
        value = last[0]
        if value is not None:
            tf.reshape(value, [-1])[:1].numpy()

    return once, wait


def memory(quick):
    # TensorFlow keeps its own account of the memory; the script for PyTorch writes and reads all of it.
    return {}


def under_load(quick):
    # Clocks, heat and power while the card multiplies: calls return before the card has finished.
    if not ON_CARD:
        return {}
    a = tf.cast(tf.random.normal([8192, 8192]), tf.float16)
    product = tf.function(lambda x: tf.matmul(x, x))
    once, wait = run(lambda: product(a))
    one = seconds_per_call(once, wait, 0.5)
    for _ in range(min(900, int(4.0 / one))):
        once()
    found = nvidia_smi(SMI_UNDER_LOAD)
    wait()
    return found


def bandwidth(quick):
    size = (64 if quick else 2048 if ON_CARD else 256) * 1024**2
    source = tf.ones([size // 4], tf.float32)
    copy = tf.function(lambda x: x + 1.0)
    once, wait = run(lambda: copy(source))
    one = seconds_per_call(once, wait, 0.5 if quick else BUDGET)
    return {"copy_gb_s": 2.0 * size / one / 1e9, "bytes": size}


def rates(quick):
    size = 512 if quick else 8192 if ON_CARD else 1024
    found = {}
    for name in ("fp32", "tf32", "fp16", "bf16"):
        if name == "tf32" and not ON_CARD:
            continue
        tf.config.experimental.enable_tensor_float_32_execution(name == "tf32")
        try:
            a = tf.cast(tf.random.normal([size, size]), TYPES[name])
            product = tf.function(lambda x: tf.matmul(x, x))
            once, wait = run(lambda: product(a))
            found[name] = 2.0 * size**3 / seconds_per_call(once, wait, 0.3 if quick else BUDGET) / 1e12
        except (tf.errors.OpError, TypeError):
            continue
    return found


def transformer(m, causal):
    keras = tf.keras
    tokens = keras.Input([None], dtype="int32")
    x = keras.layers.Embedding(m["vocab_size"], m["hidden_size"])(tokens)
    for _ in range(m["layers"]):
        y = keras.layers.LayerNormalization()(x)
        attention = keras.layers.MultiHeadAttention(m["attention_heads"], m["head_dim"])
        x = x + attention(y, y, use_causal_mask=causal)
        y = keras.layers.LayerNormalization()(x)
        y = keras.layers.Dense(m["intermediate_size"], activation="gelu")(y)
        x = x + keras.layers.Dense(m["hidden_size"])(y)
    return keras.Model(tokens, keras.layers.Dense(m["vocab_size"] if causal else 2, dtype="float32")(x))


def smaller(question):
    question = json.loads(json.dumps(question))
    question.update(batch_size=min(2, question["batch_size"]), sequence_length=64, image_size=64)
    if question.get("dimensions"):
        question["dimensions"].update(
            layers=2, hidden_size=128, intermediate_size=256, attention_heads=4, head_dim=32, vocab_size=1000
        )
    return question


def workload(quick):
    question = smaller(QUESTION["workload"]) if quick else QUESTION["workload"]
    if question.get("skip"):
        return {"skipped": question["skip"]}
    images, trains = question["family"] == "vision", question["task"] == "training"
    tf.config.experimental.enable_tensor_float_32_execution(question["compute_type"] == "tf32")
    policy = {"fp16": "mixed_float16", "bf16": "mixed_bfloat16"}.get(question["compute_type"], "float32")
    tf.keras.mixed_precision.set_global_policy(policy)
    batch, length = question["batch_size"], question["sequence_length"]
    if images:
        builder = getattr(tf.keras.applications, question["keras_name"])
        size = question["image_size"]
        model = builder(weights=None, input_shape=(size, size, 3), classes=1000)
        data = tf.random.normal([batch, size, size, 3])
    else:
        model = transformer(question["dimensions"], question["family"] == "decoder")
        vocabulary = question["dimensions"]["vocab_size"]
        data = tf.random.uniform([batch, length], 0, vocabulary, tf.int32)
    optimizer = tf.keras.optimizers.SGD(1e-3, momentum=0.9) if images else tf.keras.optimizers.Adam(1e-4)

    @tf.function(jit_compile=question["software"] == "new")
    def train():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.cast(model(data, training=True), tf.float32)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function(jit_compile=question["software"] == "new")
    def infer():
        return model(data, training=False)

    once, wait = run(train if trains else infer)
    one = seconds_per_call(once, wait, 1.0 if quick else 60.0)
    units = batch * (length if question["unit"] == "tokens_per_s" else 1)
    found = {
        "step_s": one, "value": units / one, "unit": question["unit"], "batch_size": batch,
        "precision": question["compute_type"], "task": question["task"],
        "phase": "prefill" if question["unit"] == "tokens_per_s" and not trains else "",
        "parameters": int(model.count_params()),
    }
    if ON_CARD:
        found["peak_allocated_gib"] = tf.config.experimental.get_memory_info("GPU:0")["peak"] / GIB
    return found
'''
