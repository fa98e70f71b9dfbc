// Requests to the server. The token is in the fragment of the URL, which browsers do not send; each
// request has it as a header.

let token = new URLSearchParams(location.hash.slice(1)).get("token");
const kStored = "reveza-token";
if (token) {
  // Links to sections replace the fragment.
  sessionStorage.setItem(kStored, token);
} else {
  token = sessionStorage.getItem(kStored) ?? "";
}

export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, options = {}) {
  const answer = await fetch(path, {
    ...options,
    headers: {...options.headers, Authorization: `Bearer ${token}`},
  });
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = text;
  try {
    message = JSON.parse(text).error ?? text;
  } catch {
    // Plain text.
  }
  throw new RequestError(answer.status, message || `HTTP ${answer.status}`);
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return (await request(query ? `${path}?${query}` : path)).json();
}

export async function getBytes(path) {
  return (await request(path)).arrayBuffer();
}

export async function post(path, content) {
  return (await request(path, {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify(content),
  })).json();
}

// Calls `onMessage(type, data)` for each message of the stream until it ends. EventSource cannot
// send a header.
async function readStream(onMessage) {
  const reader = (await request("api/stream")).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const messages = (rest + value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      const match = /^event: (\w+)\ndata: (.*)$/s.exec(message);
      if (match) onMessage(match[1], JSON.parse(match[2]));
    }
  }
}

// Reads the stream for ever and connects again when it ends. `onState` is told "open", "lost" or,
// if the server refuses the token, "refused"; then it is not tried again.
export async function follow(onMessage, onState) {
  const kMaxWait = 5000;
  for (let wait = 250;; wait = Math.min(2 * wait, kMaxWait)) {
    try {
      let open = false;
      await readStream((type, data) => {
        if (!open) {
          open = true;
          wait = 250;
          onState("open");
        }
        onMessage(type, data);
      });
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) {
        onState("refused");
        return;
      }
    }
    onState("lost");
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
