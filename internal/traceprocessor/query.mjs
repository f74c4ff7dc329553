// Loads a trace into Perfetto's trace processor and asks it questions.
//
//	node query.mjs trace_processor.wasm TRACE < QUERIES > ANSWERS
//
// In: a JSON array of SQL texts. Out: a JSON array with {"columns": [...], "rows": [[...], ...]} or {"error": "..."} for each;
// integers are written with all their digits. What the trace processor logs goes to stderr. The exit code is 1 if the
// trace cannot be loaded.
//
// The module is talked to by two functions. trace_processor_rpc_init takes the index of a function for replies and the
// size of a buffer for requests, and returns where that buffer is; trace_processor_on_rpc_request takes how many bytes
// of the buffer are filled. Both directions are streams of protobuf messages, TraceProcessorRpcStream { repeated
// TraceProcessorRpc msg = 1 } with, in a TraceProcessorRpc: seq = 1, request = 2, response = 3, fatal_error = 5,
// append_trace_data = 101, query_args = 103, append_result = 201, query_result = 203. The rest of the module's imports
// are a C library's; of a system it gets a clock, memory and somewhere to log, and no files.

import fs from 'node:fs';

const APPEND = 1, FINALIZE = 2, QUERY = 3;
const bufferSize = 16 << 20;
const piece = 8 << 20; // of a trace in one request

// ---- protobuf, as much as is needed ----

function varint(n) {
  const out = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  out.push(Number(n));
  return Buffer.from(out);
}

const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const bytes = (field, b) => Buffer.concat([varint(field << 3 | 2), varint(b.length), b]);

class Fields {
  constructor(b) {
    this.b = b;
    this.at = 0;
  }

  varint() {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (this.at >= this.b.length || shift > 63n) throw new Error('a reply is cut short');
      const x = this.b[this.at++];
      n |= BigInt(x & 127) << shift;
      if (x < 128) return BigInt.asUintN(64, n);
    }
  }

  take(n) {
    if (this.at + n > this.b.length) throw new Error('a reply is cut short');
    return this.b.subarray(this.at, this.at += n);
  }

  // next returns [field, value]: a bigint for a varint, bytes for all else; null at the end.
  next() {
    if (this.at >= this.b.length) return null;
    const tag = Number(this.varint());
    switch (tag & 7) {
      case 0: return [tag >>> 3, this.varint()];
      case 1: return [tag >>> 3, this.take(8)];
      case 2: return [tag >>> 3, this.take(Number(this.varint()))];
      case 5: return [tag >>> 3, this.take(4)];
    }
    throw new Error(`a reply has wire type ${tag & 7}`);
  }

  *[Symbol.iterator]() {
    for (let f; (f = this.next()) !== null;) yield f;
  }
}

// ---- the module and what it imports ----

let memory, reply = null, replies = [];

const view = () => new DataView(memory.buffer);
const text = (at, n) => Buffer.from(memory.buffer, at, n).toString();

function cText(at) {
  const all = new Uint8Array(memory.buffer);
  return text(at, all.indexOf(0, at) - at);
}

const log = (line) => process.stderr.write(line + '\n');
const ENOSYS = 52, EBADF = 8; // WASI's numbers, which Emscripten uses

const known = {
  emscripten_get_now: () => performance.now(),
  emscripten_date_now: () => Date.now(),
  emscripten_err: (at) => log(cText(at)),
  emscripten_errn: (at, n) => log(text(at, n)),
  emscripten_get_heap_max: () => 0xffff0000 | 0,
  emscripten_resize_heap: (wanted) => {
    const more = (wanted >>> 0) - memory.buffer.byteLength;
    try {
      memory.grow(Math.ceil(Math.max(more, 64 << 20) / 65536));
      return 1;
    } catch {
      return 0;
    }
  },
  exit: (code) => { throw new Error(`the trace processor ended with code ${code}`); },
  proc_exit: (code) => { throw new Error(`the trace processor ended with code ${code}`); },
  _abort_js: () => { throw new Error('the trace processor gave up'); },
  __assert_fail: (what, file, line) => { throw new Error(`${cText(file)}:${line}: ${cText(what)}`); },
  __cxa_throw: () => { throw new Error('the trace processor threw an exception'); },
  clock_time_get: (_clock, _precision, out) => {
    view().setBigUint64(out, BigInt(Math.round(Date.now() * 1e6)), true);
    return 0;
  },
  environ_sizes_get: (count, size) => {
    view().setUint32(count, 0, true);
    view().setUint32(size, 0, true);
    return 0;
  },
  environ_get: () => 0,
  fd_write: (fd, vectors, n, written) => {
    if (fd !== 1 && fd !== 2) return EBADF;
    let total = 0;
    for (let i = 0; i < n; i++) {
      const at = view().getUint32(vectors + 8 * i, true), length = view().getUint32(vectors + 8 * i + 4, true);
      process.stderr.write(text(at, length));
      total += length;
    }
    view().setUint32(written, total, true);
    return 0;
  },
  fd_close: () => 0,
  _timegm_js: () => 0n,
  _gmtime_js: (seconds, out) => {
    const d = new Date(Number(seconds) * 1000);
    [d.getUTCSeconds(), d.getUTCMinutes(), d.getUTCHours(), d.getUTCDate(), d.getUTCMonth(), d.getUTCFullYear() - 1900,
      d.getUTCDay(), Math.floor((d - Date.UTC(d.getUTCFullYear())) / 86400e3), 0].forEach((n, i) => view().setInt32(out + 4 * i, n, true));
  },
  _localtime_js: () => {},
  _tzset_js: () => {},
};

function imports(module) {
  const all = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    all[from] ??= {};
    // System calls return an error below zero; so do the functions for stacks and offsets, for whom 0 says "none".
    all[from][name] = known[name] ?? (name.startsWith('__syscall') ? () => -ENOSYS : from.startsWith('wasi') ? () => ENOSYS : () => 0);
  }
  return all;
}

// Only functions of a module fit into its table: this one, in bytes, imports e.f(i32, i32) and exports it again as f.
const shim = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 6, 1, 0x60, 2, 0x7f, 0x7f, 0, 2, 7, 1, 1, 0x65, 1, 0x66, 0, 0,
  7, 5, 1, 1, 0x66, 0, 0);

function load(path) {
  const module = new WebAssembly.Module(fs.readFileSync(path));
  const { exports } = new WebAssembly.Instance(module, imports(module));
  memory = exports.memory;
  exports.emscripten_stack_init();
  exports.__wasm_call_ctors();
  const { exports: out } = new WebAssembly.Instance(new WebAssembly.Module(shim), {
    e: { f: (at, n) => replies.push(Buffer.from(new Uint8Array(memory.buffer, at, n))) },
  });
  const table = exports.__indirect_function_table, index = table.grow(1);
  table.set(index, out.f);
  const buffer = exports.trace_processor_rpc_init(index, bufferSize);
  let seq = 0;
  // call sends one request and returns the bodies of its answers: the given field of each reply.
  reply = (method, args, field) => {
    const request = bytes(1, Buffer.concat([number(1, seq++), number(2, method), args]));
    new Uint8Array(memory.buffer).set(request, buffer);
    replies = [];
    exports.trace_processor_on_rpc_request(request.length);
    const bodies = [];
    for (const [, message] of new Fields(Buffer.concat(replies))) {
      for (const [f, value] of new Fields(message)) {
        if (f === 5) throw new Error(value.toString());
        if (f === field) bodies.push(value);
      }
    }
    return bodies;
  };
}

function loadTrace(path) {
  const check = (bodies) => {
    for (const body of bodies) {
      for (const [f, value] of new Fields(body)) {
        if (f === 2 && value.length > 0) throw new Error(value.toString());
      }
    }
  };
  const file = fs.openSync(path), chunk = Buffer.alloc(piece);
  for (let n; (n = fs.readSync(file, chunk, 0, piece, null)) > 0;) {
    check(reply(APPEND, bytes(101, chunk.subarray(0, n)), 201));
  }
  fs.closeSync(file);
  reply(FINALIZE, Buffer.alloc(0), 0);
}

// ---- questions ----

// Results come as batches of cells: the kinds of all cells, row by row, and for each kind the values one after another.
function query(sql) {
  const columns = [], cells = [];
  let error = '';
  for (const body of reply(QUERY, bytes(103, bytes(1, Buffer.from(sql))), 203)) {
    for (const [f, value] of new Fields(body)) {
      if (f === 1) columns.push(value.toString());
      if (f === 2) error = value.toString();
      if (f === 3) batch(value, cells);
    }
  }
  if (error) return JSON.stringify({ error });
  const rows = [];
  for (let i = 0; i + columns.length <= cells.length && columns.length > 0; i += columns.length) {
    rows.push(`[${cells.slice(i, i + columns.length).join(',')}]`);
  }
  return `{"columns":${JSON.stringify(columns)},"rows":[${rows.join(',')}]}`;
}

function batch(b, cells) {
  let kinds = [], integers = new Fields(Buffer.alloc(0)), floats = Buffer.alloc(0), strings = [], blobs = [];
  for (const [f, value] of new Fields(b)) {
    if (f === 1) kinds = [...value];
    if (f === 2) integers = new Fields(value);
    if (f === 3) floats = value;
    if (f === 4) blobs.push(value.toString('hex'));
    if (f === 5) strings = value.toString().split('\0');
  }
  let at = 0;
  for (const kind of kinds) {
    switch (kind) {
      case 1: cells.push('null'); break;
      case 2: cells.push(BigInt.asIntN(64, integers.varint()).toString()); break;
      case 3: cells.push(JSON.stringify(floats.readDoubleLE(at))); at += 8; break;
      case 4: cells.push(JSON.stringify(strings.shift())); break;
      case 5: cells.push(JSON.stringify(blobs.shift())); break;
      default: throw new Error(`a cell of kind ${kind}`);
    }
  }
}

try {
  load(process.argv[2]);
  loadTrace(process.argv[3]);
  const answers = JSON.parse(fs.readFileSync(0)).map(query);
  process.stdout.write(`[${answers.join(',\n')}]\n`);
} catch (e) {
  log(String(e.message ?? e));
  process.exitCode = 1;
}
