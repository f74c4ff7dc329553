// query: the language of the search, as docs/viewer.md has it. A query is parsed once into a list of alternatives, each a
// list of terms that must all hold, and then asked of events one by one. show/index has the same language in Go for what
// `meridian view` serves; show/index/testdata/search.json holds both to the same answers.

/** @import { Searched, Term, Word } from "./types.js" */

const operators = ["!=", "<=", ">=", "=", "<", ">", ":"];
const blanks = " \t\n\r";

/**
 * fold maps the letters of ASCII only: what other letters have as small ones differs between languages and versions.
 * @param {string} text
 */
const fold = (text) => text.replace(/[A-Z]+/g, (s) => s.toLowerCase());

/**
 * number reads an integer as a BigInt, exactly, and a decimal as a Number; null is no number.
 * @param {string} text
 */
export function number(text) {
  if (/^[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)$/.test(text)) {
    const n = BigInt(text.replace(/^[+-]/, ""));
    return text[0] === "-" ? -n : n;
  }
  if (/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(text)) {
    const n = Number(text);
    return Number.isFinite(n) ? n : null;
  }
  return null;
}

/**
 * compare orders two numbers: exactly if both are integers, else as doubles.
 * @param {number | bigint} a
 * @param {number | bigint} b
 */
function compare(a, b) {
  if (typeof a !== typeof b) [a, b] = [Number(a), Number(b)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * lex cuts a query into words; a word is a list of pieces, of which the quoted ones stand for themselves.
 * @param {string} text
 */
function lex(text) {
  /** @type {(Word | "|")[]} */
  const words = [];
  for (let i = 0; i < text.length;) {
    if (blanks.includes(text[i])) {
      i++;
      continue;
    }
    if (text[i] === "|") {
      words.push("|");
      i++;
      continue;
    }
    let plain = "", operator = "", quoted = false, negated = false;
    /** @type {string | null} */
    let left = null;
    if (text[i] === "-" && i + 1 < text.length && !(blanks + "|").includes(text[i + 1])) {
      negated = true;
      i++;
    }
    while (i < text.length && !blanks.includes(text[i]) && text[i] !== "|") {
      if (text[i] === '"') {
        quoted = true;
        for (i++; ; i++) {
          if (i >= text.length) throw new Error('missing closing "');
          if (text[i] === '"') break;
          if (text[i] === "\\" && i + 1 < text.length) i++;
          plain += text[i];
        }
        i++;
        continue;
      }
      /** @type {string | undefined} */
      const found = left === null && plain !== "" ? operators.find((o) => text.startsWith(o, i)) : undefined;
      if (found) {
        [left, plain, operator, quoted] = [plain, "", found, false];
        i += found.length;
        continue;
      }
      plain += text[i++];
    }
    words.push({ negated, field: left, operator, value: plain, quoted });
  }
  return words;
}

/**
 * @param {Word} word
 */
function term(word) {
  const { negated, field, operator, value, quoted } = word;
  if (field === null) {
    if (value === "") throw new Error("empty word");
    return { negated, field: null, operator: ":", text: fold(value) };
  }
  const n = quoted ? null : number(value);
  if (operator !== ":" && operator !== "=" && operator !== "!=" && n === null) {
    throw new Error(`operator ${operator} needs a number, not "${value}"`);
  }
  return { negated, field, operator, text: operator === ":" ? fold(value) : value, number: n };
}

/**
 * parse returns alternatives of terms, or throws an Error that a person can read.
 * @param {string} text
 */
export function parse(text) {
  /** @type {Term[][]} */
  const alternatives = [[]];
  for (const word of lex(text)) {
    if (typeof word === "string") alternatives.push([]);
    else alternatives[alternatives.length - 1].push(term(word));
  }
  if (alternatives.some((terms) => terms.length === 0)) {
    throw new Error(alternatives.length > 1 ? "no term beside |" : "no term");
  }
  return alternatives;
}

/**
 * fulfils says whether one value is as a term wants it.
 * @param {Term} options
 * @param {string} value
 */
function fulfils({ operator, text, number: wanted }, value) {
  if (operator === ":") return fold(value).includes(text);
  const is = wanted === null ? null : number(value);
  if (operator === "=" || operator === "!=") {
    const same = is !== null ? compare(is, wanted ?? 0) === 0 : value === text;
    return same === (operator === "=");
  }
  if (is === null) return false;
  const order = compare(is, wanted ?? 0);
  return operator === "<" ? order < 0 : operator === "<=" ? order <= 0 : operator === ">" ? order > 0 : order >= 0;
}

/** @type {(keyof Searched)[]} */
const own = ["name", "category", "host", "row"];

/**
 * @param {Term} term
 * @param {Searched} event
 */
function holds(term, event) {
  const { field, negated } = term;
  const some = field === null
    ? fulfils(term, event.name) || event.fields.some(([, value]) => fulfils(term, value))
    : own.some((name) => name === field && fulfils(term, /** @type {string} */ (event[name]))) || event.fields.some(([name, value]) => name === field && fulfils(term, value));
  return some !== negated;
}

/**
 * matches asks a parsed query of an event {name, category, host, row, fields: [[name, text], ...]}.
 * @param {Term[][]} alternatives
 * @param {Searched} event
 */
export const matches = (alternatives, event) => alternatives.some((terms) => terms.every((t) => holds(t, event)));
