#!/usr/bin/env python3
"""A small language model with random weights in vLLM, which sleeps and wakes; nothing is downloaded.

  reveza run -- python vllm_dummy.py [LEVEL]

Prints the tokens before and after the sleep: with level 1 (the default) they are the same; with level 2 the weights are
gone, and the tokens are others.
"""

import json
import pathlib
import sys
import tempfile

from vllm import LLM, SamplingParams

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096,
          "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 32000,
          "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "torch_dtype": "bfloat16",
          "bos_token_id": 1, "eos_token_id": 2}


def main() -> None:
    level = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(CONFIG))
        model = LLM(folder, load_format="dummy", skip_tokenizer_init=True, enable_sleep_mode=True, seed=1,
                    gpu_memory_utilization=0.5, max_model_len=1024)
        how = SamplingParams(temperature=0, max_tokens=16, ignore_eos=True, detokenize=False)

        def tokens() -> list[int]:
            answer = model.generate({"prompt_token_ids": list(range(3, 67))}, how, use_tqdm=False)
            return list(answer[0].outputs[0].token_ids)

        print("before:", tokens())
        model.sleep(level=level)
        model.wake_up()
        print("after: ", tokens())


if __name__ == "__main__":
    main()
