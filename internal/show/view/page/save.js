// save: what is shown as files: tables as CSV, the picture in sight as PNG.

/** @import { Column } from "./types.js" */

/**
 * csv writes rows as RFC 4180 has them; numbers as they are sorted by, in ns.
 * @template R
 * @param {Column<R>[]} columns
 * @param {R[]} rows
 */
export function csv(columns, rows) {
  const cell = (/** @type {string} */ text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text);
  // A text that a spreadsheet would take for a formula is kept a text.
  const safe = (/** @type {string} */ text) => cell(/^[=+@\t]/.test(text) || /^-[^0-9.]/.test(text) ? `'${text}` : text);
  const line = (/** @type {R} */ row) => columns.map((c) => { const v = c.number && c.value ? c.value(row) : null; return typeof v === "number" ? String(v) : safe(c.text(row)); }).join(",");
  return [columns.map((c) => cell(c.number && c.value ? `${c.title} (number)` : c.title)).join(","), ...rows.map(line)].join("\r\n") + "\r\n";
}

/**
 * file has the browser save a file.
 * @param {string} name
 * @param {Blob} content
 */
export function file(name, content) {
  const url = URL.createObjectURL(content), link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/**
 * @param {string} name
 * @param {string} text
 */
export const text = (name, text) => file(name, new Blob([text], { type: "text/csv;charset=utf-8" }));
