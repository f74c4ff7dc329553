// What the page is told by the index (docs/viewer.md, internal/show/index), and what its modules hand to each other. Instants are
// ns since the origin of the timeline, lengths are ns, places are CSS pixels from the left and top of the plot.

import type { Tile } from "./decode.js";

export type { Tile };

/** A corner of a clock's map: [instant, bound below, bound above, what the clock showed minus the instant]. */
export type Corner = [at: number, below: number, above: number, recorded: number];

export interface About {
  version: number;
  title: string;
  origin: string; // an integer: ns since 1970
  span: number;
  top: number; // the least level whose tile 0 covers everything
  live: boolean;
  notes?: Note[];
  noteFile?: boolean; // notes are kept in a file
  against?: string; // the timeline with which this one is compared
  step: number;
  hosts: Host[];
  clocks: Clock[];
  rows: Row[];
  classes: EventClass[];
  links: Link[];
  events: number;
  messages: number;
  verdicts: number[]; // messages by verdict
  inverted?: number; // messages received before they were sent by the recorded stamps
  minDelay?: number; // the least delay of a message, ns
  delays: Histogram[];
  method: string;
  assumption: string;
  summary: string;
  warnings: string[];
  pairs: string[][];
  left: string[];
}

/** How far a timeline has grown, as the server says it. */
export interface Growth {
  version: number; // of the picture
  shape: number; // while it is the same, about differs only in counts, span and top
  events: number;
  span: number;
  top: number;
  hosts: number;
  late: number; // events that came after later ones
  changed: number; // settled tiles from here on have changed; -1 if none has
  dropped?: [from: number, to: number][]; // what the index has no longer
}

/** A message of the server about a timeline that grows. */
export interface LiveUpdate {
  growth: Growth;
  now: string; // an integer: the present, ns since the origin
  behind: number; // ns that the latest event is behind the present
  frame: number; // ns that an event waits for earlier ones
  lost: number; // events that were lost before they were recorded
  late: number;
  hosts: { behind: number; lost: number; bound: string }[];
  ended: boolean;
}

export interface Host {
  name: string;
  component: number;
  reference: string;
  addresses: string[];
  offset: string;
  skew: string;
  bound: string;
  events: number;
}

export interface Clock {
  host: number;
  component: number;
  set: boolean;
  low: boolean;
  high: boolean;
  granularity: number;
  corners: Corner[];
}

export interface Row {
  host: number;
  clock: number; // -1 for none
  clocks?: [at: number, clock: number][];
  name: string;
  kind: string;
  id: number;
  parent: number; // -1 for none
  events: number;
  lanes: RowLane[];
}

export interface RowLane {
  lane: number;
  kind: "instants" | "slices" | "counter";
  depth: number;
  name: string;
  items: number;
  least: number;
  greatest: number;
}

export interface EventClass {
  name: string;
  category: string;
  fields: string[];
  events: number;
}

export interface Link {
  lane: number;
  from: number;
  to: number;
  messages: number;
  worst: number;
}

export interface Histogram {
  from: number;
  to: number;
  messages: number;
  least: number;
  greatest: number;
  mean: number;
  buckets: [least: number, greatest: number, count: number][];
}

export interface TimelineEvent {
  event: number;
  at: number;
  recorded: string; // an integer: the stamp, ns since 1970
  row: number;
  clock: number;
  class: number;
  phase: string;
  fields: [name: string, value: string][] | null;
  low?: number;
  high?: number;
  flow?: { sent: number; received: number };
  slice?: { begin: number; end: number };
}

export interface Hit {
  event: number;
  at: number;
  row: number;
  class: number;
}

export interface Found {
  found: Hit[];
  next: number; // where to go on; -1 at the end
}

export interface Violation {
  verdict: number;
  sent: number;
  delay: number;
  low?: number;
  high?: number;
  from: number;
  to: number;
  link: number;
}

export interface Violations {
  counts: number[];
  list: Violation[] | null;
  raw?: { inverted: number; list: RawInversion[] };
}

/** A column of a histogram: where it is drawn, and how many messages took from..to ns. */
export interface Bar {
  x: number;
  y: number;
  width: number;
  height: number;
  from: number;
  to: number;
  n: number;
}

/** A message in a list of those whose delay is within limits. */
export interface DelayedMessage {
  sent: number;
  delay: number;
  from: number; // event
  to: number;
  link: number;
  verdict: number;
}

export interface DelayedMessages {
  count: number;
  list: DelayedMessage[];
  gone?: boolean; // the index has only a part of the timeline any more
}

/** A message that was received before it was sent by the stamps as they were recorded. */
export interface RawInversion {
  sent: number;
  delay: number; // of the stamps
  from: number;
  to: number;
  link: number;
}

export interface Plot {
  title: string;
  svg: string;
}

/** A lane of a tile. Which of its columns there are depends on its mode; each has n entries. */
export interface TileLane {
  number: number;
  mode: number;
  n: number;
  at: Float64Array | Uint16Array; // instants, or the numbers of bins
  length: Float64Array;
  name: Uint32Array; // classes
  event: Float64Array;
  flags: Uint8Array;
  value: Float64Array;
  least: Float64Array;
  greatest: Float64Array;
  last: Float64Array;
  verdict: Uint8Array;
  to: Float64Array;
  delay: Float64Array;
  count: Float64Array;
  busy: Uint8Array;
  before: number | null; // of a counter: its value at the beginning
}

/** Bounds of an instant: it lies in [at-low, at+high]; null is a side without a bound. */
export interface Bounds {
  low: number | null;
  high: number | null;
}

/** A part of a row's events that came by one clock. */
export interface Run {
  from: number;
  to: number;
  clock: number;
}

export interface Span {
  from: number;
  to: number;
}

/** A lane as it is drawn on a line: one of the row's, or a summary of what is folded into it. */
export interface DrawnLane extends Partial<Omit<RowLane, "kind">> {
  kind: "instants" | "slices" | "counter" | "summary";
  y: number;
  h: number;
}

/** What a line is known by: "h" and a host's number, "k", a host's number, "." and a kind, or the number of a row. */
export type LineId = string | number;

export interface Line {
  id: LineId;
  type: "host" | "kind" | "row";
  host: number;
  row: number; // -1 for a host or kind
  name: string;
  level: number;
  y: number;
  h: number;
  folds: boolean;
  folded: boolean;
  count?: number;
  lanes: DrawnLane[];
  more: number; // lanes that are not shown
  idle?: number; // rows of a host without events in sight, left out
  below: number[] | null; // the rows that are summed up here
}

/** A piece of a tile that is drawn: [from, to) of the timeline, whose pixel is (t-from)*k+x. */
export interface Piece {
  tile: Tile;
  from: number;
  to: number;
  k: number;
  x: number;
  jump?: boolean;
  stop?: number;
}

/** An arrow, or a mark where a violation is received. */
export interface Arrow {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  verdict: number;
  delay: number;
  by: number; // the delay as it is drawn: in raw time by the recorded stamps
  inverted: boolean; // in raw time
  at: number;
  link: Link;
  event: number;
  to: number;
}

/** What is under the pointer; which parts there are depends on its kind. */
export interface Hovered {
  kind: string;
  row: number;
  host: number;
  line: Line;
  lane: DrawnLane;
  at: number;
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  y: number;
  h: number;
  begin: number;
  length: number;
  class: number;
  event: number;
  flags: number;
  value: number;
  least: number;
  greatest: number;
  count: number;
  busy: number | null;
  n: number;
  link: Link;
  delay: number;
  verdict: number;
  to: number;
}

/** What requests are asked for: sort is total, beyond, server, network, client or begin. */
export interface RequestQuery {
  sort?: string;
  q?: string;
  n?: number;
  from?: number;
  to?: number;
}

/** A length by the estimate, and between which it truly is. */
export interface RequestLength {
  estimate: number;
  low: number | null;
  high: number | null;
  impossible?: boolean;
}

export interface TimelineRequest {
  id: number;
  kind: "span" | "exchange" | "http" | "http2" | "between";
  name: string;
  client: number; // row
  server: number;
  begin: number;
  total: number;
  beyond: number; // of the total, beyond the median of like requests
  clientTime: number;
  transfer: number;
  like: number;
  serverTime: number;
  network: number;
  there: RequestLength;
  back: RequestLength;
  event: number;
  last: number;
  messages: number;
  status?: string;
  again?: number; // packets of it that were sent again
  peer?: string; // address of the server's end; of the client's, where the server alone was recorded
  clientAddress?: string; // of an end of which it is not known which host it is
  serverAddress?: string;
  overlapping?: boolean; // it cannot be divided
  alone?: boolean; // the other end was not recorded
}

/** Percentiles of the totals of requests of one name between two hosts. */
export interface RequestGroup {
  name: string;
  client: number; // host
  server: number;
  clientAddress?: string; // as of requests
  serverAddress?: string;
  count: number;
  p50: number;
  p90: number;
  p99: number;
  most: number;
}

export interface RequestList {
  count: number;
  matched: number;
  held?: number; // in one file: how many it has
  names: number; // of groups
  lost?: { count: number, names: string[] }; // requests without a reply
  requests: TimelineRequest[];
  groups: RequestGroup[];
  none?: string; // why none are listed
  upTo?: number; // where packets are too many: of later ones none was read
  since?: number; // of a timeline that grows: earlier requests are not listed
  behind?: number; // events that have come since and were not looked at yet
}

/** A part of a critical path: a stretch of a row, or a message on its way from one. */
export interface PathPiece {
  row: number;
  from: number; // -1: no message
  begin: number;
  end: number;
  name: string;
  detail?: string; // the call it waited in, who had the processor, or the packet
  depth: number;
  low?: number;
  high?: number;
  assumed?: boolean;
  unresolved?: boolean;
}

export interface PathItem {
  name: string;
  host: number;
  fromHost: number; // of a way; -1
  estimate: number;
  low: number;
  high: number;
  beyondLow: number;
  beyondHigh: number;
  pieces: number;
}

export interface RequestPath {
  request: TimelineRequest;
  pieces: PathPiece[];
  items: PathItem[];
  total: number[]; // items of which each can be the longest
  beyond: number[];
  like: number;
  contradiction?: boolean;
  locks?: LockWait[];
  reaches?: boolean; // of a path between two events: it passes the first one's host
  unordered?: boolean; // the clocks leave open which was first
}

/** A wait for a lock on a path, in ns. */
export interface LockWait {
  holder: number; // row
  total: number;
  elsewhere: number; // of that, while the holder waited for other hosts
  unknown: number; // of that, while it is not known what the holder waited for
  hosts: number[];
}

/** Lengths of slices, or delays of messages. */
export interface Lengths {
  least: number;
  p50: number;
  p90: number;
  p99: number;
  greatest: number;
}

export interface NameNumbers extends Lengths {
  row: number;
  class: number;
  instant?: boolean;
  count: number;
  sum: number; // ns within the stretch
}

export interface LinkNumbers extends Lengths {
  lane: number;
  from: number; // rows
  to: number;
  count: number;
  verdicts: number[];
  bytes?: number; // payload of TCP, where it is known
}

/** What happened in a stretch, as numbers. */
export interface StretchNumbers {
  names: NameNumbers[];
  links: LinkNumbers[];
  left: number;
  skipped?: Record<string, number>;
  gone?: number; // ns of the stretch of which the index has nothing any more
  none?: string; // why nothing is counted
}

/** How much payload of TCP arrived in a stretch, by hosts. */
export interface Traffic {
  ways: { from: number; to: number; bytes: number }[];
  upTo?: number;
  since?: number;
  none?: string; // why there is none
}

/** What a thread did within a stretch. */
export interface StateSum {
  row: number;
  state: string;
  why?: string;
  call?: string;
  count: number;
  sum: number;
  longest: number;
}

export interface ThreadStates {
  states: StateSum[];
  left: number; // entries that are left out
  threads: number;
  unrecorded?: number; // threads of which no states are known
  upTo?: number;
  since?: number;
  none?: string; // why there are none
}

/** The median of what one run has of a name, and between which it truly is. */
export interface Median {
  median: number;
  low: number;
  high: number;
  count: number;
}

/** What two runs have of one name: of slices of a host, requests, or messages between two hosts. */
export interface Compared {
  kind: "slice" | "request" | "message";
  name: string;
  host: string;
  to?: string;
  a: Median;
  b: Median;
  sums: [number, number]; // ns, of slices
  differs: boolean | null; // null: not known
  change: [number, number]; // of the medians, as a part of a's; and the least that the intervals allow
}

export interface OnlyIn {
  kind: "slice" | "request" | "message";
  name: string;
  host: string;
  to?: string;
  in: "a" | "b";
  count: number;
}

export interface Comparison {
  a: string;
  b: string;
  rows: Compared[];
  only: OnlyIn[];
  left: number;
}

/** One of two events, or places, that are compared. */
export interface End {
  event: number | null;
  at: number;
  row: number;
  clock: number;
  component: number | null;
  recorded: bigint | null;
  low: number | null;
  high: number | null;
  host?: number; // of a point on the line of a host
  what?: TimelineEvent | null;
}

/** A message of a chain. */
export interface Hop {
  sent: TimelineEvent;
  received: TimelineEvent;
}

export interface Difference {
  delta: number;
  low: number | null;
  high: number | null;
  comparable: boolean;
  oneClock: boolean;
}

/** A difference, cut where messages say more than the clocks; against: messages and bounds leave nothing. */
export interface Relation extends Difference {
  cut: boolean;
  against: boolean;
}

export interface Judgement {
  answer: "yes" | "no" | "unknown";
  why: string;
  margin: number | null;
  path?: Path | null;
  against?: boolean;
}

/** Messages by which one of two events happened before the other; "both" is a contradiction. */
export interface Path {
  way: "ab" | "ba" | "both";
  hops: Passage[];
}

export type HiddenKind = "hosts" | "rows" | "classes" | "links" | "collapsed";

export interface Command {
  id: string;
  key: string;
  keys: string[];
  title: string;
  run: (() => unknown) | null; // null where holding the key does it
  button: boolean;
  group: string;
  pressed: (() => unknown) | null;
  label: string;
}

export type Overlay = (ctx: CanvasRenderingContext2D) => void;

declare global {
  /** The page's interface, for the console, for tests and for benchmarks. */
  var meridian: object;
}

/** What the page asks for events by; chain.js walks along one. */
export interface Source {
  before(e: TimelineEvent): Promise<TimelineEvent | null>;
  after(e: TimelineEvent): Promise<TimelineEvent | null>;
  other(e: TimelineEvent): Promise<TimelineEvent | null>;
}

/** A chain: `back` of its messages are before its start; full says that it is longer than asked for. */
export interface Followed {
  start: TimelineEvent;
  hops: Hop[];
  back: number;
  full: boolean;
}

/** A logarithmic axis of delays: place maps a delay to [0, 1], value is its inverse. */
export interface Scale {
  place(ns: number): number;
  value(part: number): number;
  least: number;
  greatest: number;
  log: boolean;
}

/** What stands in an element: elements and text; the others stand for nothing. */
export type Child = Node | string | null | undefined | false;

/** A name and its value, of a list of facts. */
export type Fact = [label: string, value: unknown] | null | undefined | false | 0;

export interface Column<R> {
  title: string;
  text(row: R): string;
  node?(row: R): Child;
  value?(row: R): number | string; // what to sort by
  number?: boolean;
  spare?: boolean; // not shown where it is empty in all rows
}

export interface TableOptions<R> {
  caption: string;
  columns: Column<R>[];
  rows: R[];
  pick?: ((row: R) => unknown) | null;
  sort?: { column: number; down: boolean } | null;
  empty?: string;
}

/** A table in its frame. */
export interface Sheet<R> extends HTMLElement {
  update(rows: R[], left?: number, words?: string): void; // left: how many more there are, which are not listed
  order(): R[];
  mark(row: R | null, scroll?: boolean): void;
}

/** What a jump arrives at; event is -1 where events are not held one by one. */
export interface Item {
  at: number;
  event: number;
  exact?: boolean;
  length?: number;
  delay?: number;
  to?: number;
  verdict?: number;
}

/** The messages of a link that a frame draws. */
export interface LinkInSight {
  link: Link;
  y0: number;
  y1: number;
  exact: Arrow[];
  binned: { lane: TileLane; tile: Tile; from: number; to: number }[];
  n: number;
}

/** A place of the plot, or an event, between which is measured. */
export interface Point {
  row: number;
  at: number;
  clock?: number; // of the line of a host
  host?: number; // -1 between lines
  event?: TimelineEvent | number | null;
}

export interface Place {
  x: number;
  y: number;
}

export interface Word {
  negated: boolean;
  field: string | null;
  operator: string;
  value: string;
  quoted: boolean;
}

export interface Term {
  negated: boolean;
  field: string | null;
  operator: string;
  text: string;
  number?: bigint | number | null;
}

export interface Searched {
  name: string;
  category: string;
  host: string;
  row: string;
  fields: [name: string, value: string][];
}

/** A view as a shared address has it. */
export interface SharedState {
  id?: string;
  from: number | null;
  to: number | null;
  raw: boolean;
  a: number | null;
  b: number | null;
  hidden: Record<string, number[]>;
  collapsed: string[];
  order: number[] | null;
  idle?: boolean;
  notes?: Note[] | null; // null: those that the timeline was opened with
  q: string;
}

/** Words at an instant, of a row (-1: of all), or a bookmark of a view, if it has an end. */
export interface Note {
  at: number;
  to?: number;
  row: number;
  text: string;
}

/** The notes of a file that the server keeps. */
export interface NotesFile {
  version: string;
  notes: Note[];
  elsewhere: number; // notes in it that are not of this timeline
  writable: boolean;
}

export interface Limits {
  events: number;
  hosts: number;
  rows: number;
  classes: number;
  links: number;
}

/** Rows below a line that came by the same clocks: lanes are 1 for a first depth of slices, 0 for others. */
export interface Part {
  number: string;
  runs: Run[];
  lanes: Map<number, number>;
  wide: number;
  rows: number[];
}

/** What lanes have in the bins of a tile. */
export interface Sums {
  count: Float32Array;
  busy: Float32Array;
  name: Uint32Array;
}

/** A message between two ends. */
export interface Passage {
  sent: End;
  received: End;
}

/** A name that is written on a slice or mark. */
export interface Label {
  x0: number;
  x1: number;
  y: number;
  name: number;
  ticks: boolean;
}

export type Blit = [line: number, lines: number, y: number, h: number, pin: boolean];

export interface Ribbon {
  base: number;
  top: number;
  h: number;
  from: number;
  lean: number;
}

/** All that is drawn one by one in a view; uncounted are the events and messages that are only counted at its scale. */
export interface InView {
  from: number;
  to: number;
  events: any[];
  messages: any[];
  uncounted: [number, number];
  counted: number;
}

/** An entry of a lane, as a table lists it. */
export interface Listed {
  at: number;
  lane: TileLane;
  i: number;
  of: any;
}

/** What answers the page: a server, or the elements of one file. */
export interface DataSource {
  open(): Promise<About>;
  json(name: string, query?: Record<string, unknown>): Promise<any>;
  has(key: string): boolean;
  nearest(key: string): string;
  batch(keys: string[]): string[];
  tiles(keys: string[], signal: AbortSignal): Promise<Map<string, Uint8Array<ArrayBuffer>>>;
  events(from: number, count: number): Promise<TimelineEvent[]>;
  search(q: string, after: number, limit: number): Promise<Found>;
  requests(query: RequestQuery): Promise<RequestList>;
  path(request: TimelineRequest): Promise<RequestPath>;
  between(from: number, to: number): Promise<RequestPath>;
  messages(query: Record<string, number>): Promise<DelayedMessages>;
  numbers(from: number, to: number, without: string): Promise<StretchNumbers>;
  states(from: number, to: number, without: string): Promise<ThreadStates>;
  traffic(from: number, to: number): Promise<Traffic>;
  notes?(): Promise<NotesFile>; // a server's alone
  keepNotes?(held: Pick<NotesFile, "version" | "notes">): Promise<NotesFile>;
}
