// notes: what one wants to remember or tell others: words at an instant, of a row or of all, and bookmarks of a view. They are
// in the page's address, so that a shared view has them. Those that a timeline was opened with are there until changed. Where the
// server keeps them in a file (kept.js), what is changed is saved there, and the address has only what is not.

import { App } from "./app.js";
import { make, button, table, plural } from "./elements.js";
import * as Kept from "./kept.js";
import * as Save from "./save.js";
import * as Time from "./time.js";
import * as View from "./view.js";

/** @import { Column, Note } from "./types.js" */

const Most = 200;
const MostKept = 1000; // in a file
const Longest = 500; // characters of a note
/** @type {Note[]} */
let notes = [];
/** @type {Note[]} */
let given = []; // with the timeline, or in its file
let changed = () => {};
let file = false; // they are kept in one
let trouble = ""; // with it
let saving = Promise.resolve();

/**
 * write makes a text of notes: AT.ROW:WORDS or FROM-TO:WORDS, joined by commas; the words are escaped.
 * @param {Note[]} list
 */
export const write = (list) => list.map((n) => `${Math.round(n.at)}${n.to === undefined ? "" : `-${Math.round(n.to)}`}${n.row >= 0 ? `.${n.row}` : ""}:${encodeURIComponent(n.text)}`).join(",");

/**
 * read reads them back; what is damaged, and what is of a row that is none, is left out.
 * @param {string} text
 * @param {number} rows
 */
export function read(text, rows) {
  /** @type {Note[]} */
  const list = [];
  for (const part of text.split(",").slice(0, Most)) {
    const m = /^(-?\d{1,15})(?:-(\d{1,15}))?(?:\.(\d{1,9}))?:(.+)$/.exec(part);
    let words = "";
    try { words = decodeURIComponent(m?.[4] ?? "").slice(0, Longest); } catch { /* it is damaged */ }
    if (!m || !words || Number(m[3] ?? 0) >= rows || (m[2] !== undefined && Number(m[2]) <= Number(m[1]))) continue;
    list.push({ at: Number(m[1]), ...(m[2] === undefined ? {} : { to: Number(m[2]) }), row: Number(m[3] ?? -1), text: words });
  }
  return list;
}

// shared is what an address is to have of the notes: null if they are those that the timeline was opened with.
export const shared = () => (write(notes) === write(given) ? null : notes.slice(0, Most));

// forOthers is what they are to get of them, who may not have the file.
export const forOthers = () => (file && notes.length ? notes.slice(0, Most) : shared());

/**
 * set takes the notes of an address; null is those that the timeline was opened with. To those of a file they are added.
 * @param {Note[] | null} list
 */
export function set(list) {
  notes = list === null ? given : file ? Kept.merge([], list, given) : list.slice(0, Most);
  changed();
}

// load brings what the file has by now; what is not saved yet stays.
async function load() {
  try {
    const list = await Kept.load();
    notes = Kept.merge(given, notes, list);
    given = list;
    trouble = "";
  } catch (/** @type {any} */ error) {
    trouble = `The notes of the file could not be read: ${error.message}`;
  }
  changed();
  App.emit("notes");
}

// save writes the notes into the file, after what is being written.
function save() {
  saving = saving.then(async () => {
    const mine = notes;
    try {
      given = await Kept.save(given, mine);
      notes = Kept.merge(mine, notes, given); // they may have been changed meanwhile
      trouble = "";
    } catch (/** @type {any} */ error) {
      trouble = `Not saved, but in the address of this page: ${error.message}`;
      App.announce(trouble);
    }
    changed();
    App.emit("notes");
  });
}

// place says where the notes are.
function place() {
  const count = plural(notes.length, "note");
  if (!file) return notes.length ? `${count}, ${shared() ? "in the address of this page" : "given with the timeline"}` : "";
  const rest = Kept.elsewhere ? ` ${Kept.elsewhere} more are of rows or instants that are not shown here, and stay in the file.` : "";
  if (trouble) return trouble;
  if (!Kept.writable) return `${count}. The file of notes is written on its own machine alone: what you change is in the address of this page.${rest}`;
  return `${count}, ${shared() ? "some of them only in the address of this page until you change one" : "kept in the file of notes"}.${rest}`;
}

/**
 * @param {Note} note
 */
function go(note) {
  if (note.to !== undefined) return App.setView(note.at, note.to, { animate: true });
  App.go(note, {});
}

/**
 * draw puts a flag where a note is: a line down to its row, with its words.
 * @param {CanvasRenderingContext2D} g
 */
function draw(g) {
  const { theme } = App;
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  /** @type {number[]} */
  const ends = []; // of the words in each line
  for (const note of notes) {
    if (note.to !== undefined) continue;
    const x = View.x(note.at, note.row < 0 ? -1 : App.clockOf(note.row, note.at)), row = note.row < 0 ? View.plot.height : App.endY(note.row);
    if (x < -1 || x > View.plot.width + 1) continue;
    const words = note.text.length > 40 ? `${note.text.slice(0, 39)}…` : note.text, width = g.measureText(words).width + 8;
    let line = 0;
    while (line < 6 && (ends[line] ?? -Infinity) > x) line++;
    ends[line] = x + width + 4;
    const y = 3 + line * 17, to = row === null ? y + 16 : Math.max(y + 16, row);
    g.fillStyle = theme.accent;
    g.fillRect(x - 0.5, y, 1, to - y);
    if (note.row >= 0 && row !== null) { g.beginPath(); g.arc(x, to, 3, 0, 7); g.fill(); }
    g.fillStyle = theme.panel;
    g.fillRect(x, y, width, 16);
    g.strokeStyle = theme.accent;
    g.strokeRect(x + 0.5, y + 0.5, width - 1, 15);
    g.fillStyle = theme.text;
    g.fillText(words, x + 4, y + 8.5);
  }
}

export function start() {
  given = App.about.notes ?? [];
  notes = given;
  file = Boolean(App.about.noteFile) && App.data.served();
  const body = App.panel("notes", "Notes", { key: "N", hint: "words at instants, and bookmarks of views" });
  const words = make("input", { type: "text", maxLength: Longest, "aria-label": "words of the note", placeholder: "a note", autocomplete: "off" });
  const said = make("output", { class: "said", "aria-live": "polite" });
  const where = (/** @type {Note} */ n) => (n.to !== undefined ? `view of ${App.duration(n.to - n.at)}` : n.row < 0 ? "all hosts" : `${App.hostOf(n.row).name} · ${App.about.rows[n.row].name}`);
  /** @type {Column<Note>[]} */
  const columns = [
    { title: "note", text: (n) => n.text },
    { title: "at", text: (n) => Time.since(n.at), value: (n) => n.at, number: true },
    { title: "where", text: where, value: where },
    { title: "", text: () => "", node: (n) => button("×", () => put(notes.filter((one) => one !== n)), { "aria-label": `remove the note ${n.text}`, title: "remove" }) },
  ];
  const list = table({ caption: "Notes", rows: notes, columns, sort: { column: 1, down: false }, pick: go, empty: "No notes yet. One is put at the selected event, else in the middle of the view." });
  const put = (/** @type {Note[]} */ next) => {
    notes = next;
    changed();
    App.emit("notes");
    if (file && (Kept.writable || trouble)) save();
  };
  const inside = (/** @type {number} */ at) => Math.round(Math.max(0, Math.min(App.about.span, at)));
  const add = (/** @type {boolean} */ view) => {
    const { a } = App.selection, text = words.value.trim();
    if (!text) { said.textContent = "Write the note first."; return words.focus(); }
    const most = file && Kept.writable ? MostKept : Most;
    if (notes.length >= most) { said.textContent = `There are ${most} notes, and no more fit ${most === Most ? "an address" : "the file"}.`; return; }
    const { from, to } = View.destination();
    put([...notes, view ? { at: Math.round(from), to: Math.round(to), row: -1, text } : a ? { at: a.at, row: a.row, text } : { at: inside(View.at(View.plot.width / 2)), row: -1, text }]);
    words.value = "";
  };
  changed = () => {
    list.update(notes);
    said.textContent = place();
    App.redraw(2);
  };
  words.addEventListener("keydown", (e) => { if (e.key === "Enter") add(false); });
  body.append(make("h2", {}, "Notes"), make("p", { class: "buttons" }, words, button("note", () => add(false), { class: "main", title: "put it at the selected event, else in the middle" }), button("bookmark", () => add(true), { title: "keep this view under these words" }),
    button("CSV", () => Save.text("notes.csv", Save.csv(columns.slice(0, 3), list.order())), { "aria-label": "save the notes as CSV" })), said, list);
  App.on("panel", (id, yes) => {
    if (id !== "notes" || !yes) return;
    words.focus();
    if (file) saving = saving.then(load);
  });
  App.overlay(draw);
  changed();
  if (file) saving = saving.then(load);
}
