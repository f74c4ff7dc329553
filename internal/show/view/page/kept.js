// kept: the notes of a timeline that its server keeps in a file. Several pages may change them: the server takes a list for the
// version that it replaces alone, and who comes late lays what it changed over what is there by then.

import * as Data from "./data.js";

/** @import { DataSource, Note, NotesFile } from "./types.js" */

const Tries = 8;
let version = "";
export let writable = false;
export let elsewhere = 0; // notes of the file that are not of this timeline

const server = () => /** @type {Required<DataSource>} */ (Data.questions());
const key = (/** @type {Note} */ n) => JSON.stringify([n.at, n.to ?? null, n.row, n.text]);

/**
 * merge lays over `theirs` what was added to `before` and removed from it to make `mine`.
 * @param {Note[]} before
 * @param {Note[]} mine
 * @param {Note[]} theirs
 */
export function merge(before, mine, theirs) {
  const keys = (/** @type {Note[]} */ list) => new Set(list.map(key));
  const had = keys(before), have = keys(mine), there = keys(theirs);
  return [...theirs.filter((n) => have.has(key(n)) || !had.has(key(n))), ...mine.filter((n) => !had.has(key(n)) && !there.has(key(n)))];
}

/**
 * @param {NotesFile} file
 */
function take(file) {
  ({ version, writable, elsewhere } = file);
  return file.notes;
}

export const load = async () => take(await server().notes());

/**
 * save brings the file from `before` to `mine`, and returns what it then has.
 * @param {Note[]} before
 * @param {Note[]} mine
 */
export async function save(before, mine) {
  for (let left = Tries; ; left--) {
    try {
      return take(await server().keepNotes({ version, notes: mine }));
    } catch (/** @type {any} */ error) {
      if (!error.changed || left === 1) throw error;
      const theirs = await load();
      mine = merge(before, mine, theirs);
      before = theirs;
    }
  }
}
