// What the time line shows: spans of each program, its memory, and the traffic of the link, for the
// last hour. Times are seconds of the daemon's clock.

export const kHistory = 3600;

// In the order of the daemon's names; later ones are drawn over earlier ones.
export const kKinds = ["wait for its turn", "wait for a context", "wait for memory", "slice", "drain",
                       "drain failed", "copy out", "copy in", "contexts out", "contexts in",
                       "promote", "demote"];
const kKindNumbers = new Map(kKinds.map((kind, number) => [kind, number]));
export const isWait = (kind) => kind < 3;

// Columns of numbers that grow at the end and lose what is old at the beginning.
class Columns {
  constructor(names) {
    this.first = 0;
    this.limit = 0;
    this.capacity = 64;
    this.names = names;
    for (const name of names) this[name] = new Float64Array(this.capacity);
  }

  push(values) {
    if (this.limit === this.capacity) this.makeRoom();
    this.names.forEach((name, i) => { this[name][this.limit] = values[i]; });
    ++this.limit;
  }

  makeRoom() {
    const used = this.limit - this.first;
    if (used > this.capacity / 2) this.capacity *= 2;
    for (const name of this.names) {
      const wider = new Float64Array(this.capacity);
      wider.set(this[name].subarray(this.first, this.limit));
      this[name] = wider;
    }
    this.first = 0;
    this.limit = used;
  }

  // Returns the first index whose `name` is at least `value`; the column must be sorted.
  find(name, value) {
    let low = this.first;
    let high = this.limit;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this[name][middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  dropBefore(name, value) {
    this.first = this.find(name, value);
  }
}

class Lane {
  constructor(job, pid, name) {
    this.job = job;
    this.pid = pid;
    this.name = name;
    this.last = 0;  // when something was heard of it
    this.live = false;
    this.longest = 0;  // of its spans: how far back of a moment spans may have begun
    // In the order in which they ended.
    this.spans = new Columns(["begin", "finish", "kind", "gpu", "bytes"]);
    this.open = [];  // [kind, begin]
    this.reasons = [];  // [time, why it waits]
    this.state = "";
  }

  // Returns why it waited at a time, or "".
  reasonAt(time) {
    for (let i = this.reasons.length - 1; i >= 0; --i) {
      if (this.reasons[i][0] <= time) return this.reasons[i][1];
    }
    return "";
  }
}

export class History {
  constructor() {
    this.clear();
  }

  clear() {
    this.lanes = [];
    this.numbers = new Map();  // job and pid -> lane
    this.now = null;  // null: no daemon
    this.offset = 0;  // to the wall clock
    this.events = 0;
    this.memory = [];  // {time, gpu: Map of index -> {total, of: Map of lane -> bytes}}
    this.traffic = new Map();  // GPU -> columns
  }

  // Adds a message of the stream.
  addTimeline(message) {
    if (message.lanes) {
      message.lanes.forEach(([job, pid, name], number) => {
        const lane = this.lanes[number];
        if (lane) {
          lane.name = name;
          return;
        }
        this.lanes.push(new Lane(job, pid, name));
        this.numbers.set(`${job} ${pid}`, number);
      });
    }
    this.now = message.now;
    this.offset = message.offset;
    for (const lane of this.lanes) lane.open.length = 0;
    for (const [number, kind, begin] of message.open) {
      const lane = this.lanes[number];
      lane.open.push([kKindNumbers.get(kind) ?? 0, begin / 1e6]);
      lane.last = message.now ?? lane.last;
    }
    for (const [number, kind, gpu, begin, length, bytes] of message.events) {
      const lane = this.lanes[number];
      const finish = (begin + length) / 1e6;
      const kindNumber = kKindNumbers.get(kind);
      if (kindNumber === undefined) continue;
      // Events of a program end in order, but for clocks that are read twice.
      const {spans} = lane;
      const last = spans.limit > spans.first ? spans.finish[spans.limit - 1] : 0;
      spans.push([begin / 1e6, Math.max(finish, last), kindNumber, gpu, bytes]);
      lane.longest = Math.max(lane.longest, length / 1e6);
      lane.last = Math.max(lane.last, finish);
      ++this.events;
    }
    this.forget();
  }

  // Adds the memory, the states and the traffic of a snapshot.
  addSnapshot(snapshot) {
    if (this.now === null) return;
    const time = snapshot.time - this.offset;
    const cards = new Map();
    for (const gpu of snapshot.gpus) {
      cards.set(gpu.index, {total: gpu.budget ?? gpu.total ?? 0, of: new Map()});
      if (!this.traffic.has(gpu.index)) {
        this.traffic.set(gpu.index, new Columns(["time", "out", "in"]));
      }
      this.traffic.get(gpu.index).push([time, gpu.link_out ?? gpu.swap_out ?? 0,
                                        gpu.link_in ?? gpu.swap_in ?? 0]);
    }
    for (const lane of this.lanes) lane.live = false;
    for (const client of snapshot.clients) {
      const number = this.numbers.get(`${client.job} ${client.pid ?? 0}`);
      if (number === undefined) continue;
      const lane = this.lanes[number];
      lane.live = true;
      lane.last = time;
      lane.state = client.state;
      const why = client.why ?? "";
      const last = lane.reasons.at(-1)?.[1] ?? "";
      if (why !== last) lane.reasons.push([time, why]);
      for (const part of client.gpus) {
        const card = cards.get(part.gpu);
        if (card && part.resident > 0) card.of.set(number, part.resident);
      }
    }
    // Each program at the same place of the stack.
    for (const card of cards.values()) card.of = new Map([...card.of].sort((a, b) => a[0] - b[0]));
    this.memory.push({time, cards});
    this.forget();
  }

  forget() {
    if (this.now === null) return;
    const oldest = this.now - kHistory;
    for (const lane of this.lanes) {
      lane.spans.dropBefore("finish", oldest);
      while (lane.reasons.length > 1 && lane.reasons[1][0] < oldest) lane.reasons.shift();
    }
    let old = 0;
    while (old < this.memory.length && this.memory[old].time < oldest) ++old;
    // Rarely, because it moves the rest.
    if (old > 256) this.memory.splice(0, old);
    for (const columns of this.traffic.values()) columns.dropBefore("time", oldest);
  }

  // Returns the numbers of the lanes of which something was heard since a time.
  visibleLanes(since) {
    const found = [];
    this.lanes.forEach((lane, number) => {
      if (lane.live || lane.last >= since) found.push(number);
    });
    return found;
  }

  // Returns the span [kind, begin, finish, gpu, bytes] of a lane at a time; the one drawn on top.
  spanAt(number, time, now) {
    const lane = this.lanes[number];
    let best = null;
    const spans = lane.spans;
    for (let i = spans.find("finish", time); i < spans.limit; ++i) {
      if (spans.finish[i] > time + lane.longest) break;
      if (spans.begin[i] > time || (best && spans.kind[i] < best[0])) continue;
      best = [spans.kind[i], spans.begin[i], spans.finish[i], spans.gpu[i], spans.bytes[i]];
    }
    for (const [kind, begin] of lane.open) {
      if (begin <= time && time <= now && (!best || kind >= best[0])) {
        best = [kind, begin, null, null, 0];
      }
    }
    return best;
  }
}
