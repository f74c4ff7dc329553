// colors: one for each name, from the name alone, so that the same name looks the same in every timeline; and those of the
// page, from its style sheet. Hues are of one saturation and differ in lightness too, so that people who confuse hues can
// still tell neighbours apart. Red and orange are kept for violations.

import { App } from "./app.js";

/** @import { About, EventClass } from "./types.js" */

const hues = [250, 200, 165, 290, 225, 140, 320, 185, 270, 115, 235, 305];
const names = ["ground", "panel", "lane", "line", "text", "dim", "accent", "message", "certain", "undecidable", "quick", "inverted", "step", "bound", "a", "b"];
/** @type {any} */
export const theme = { dark: false };
/** @type {EventClass[]} */
let classes = [];
let words = new Uint32Array(0);
/** @type {string[]} */
let texts = [];
/** @type {string[]} */
let inks = [];

/**
 * hash is FNV-1a: names that differ in a letter get other colours.
 * @param {string} text
 */
export function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h ^ (h >>> 15)) >>> 0;
}

/**
 * oklch turns lightness, chroma and hue into sRGB octets (the matrices of Ottosson's Oklab).
 * @param {number} L
 * @param {number} C
 * @param {number} degrees
 */
function oklch(L, C, degrees) {
  const a = C * Math.cos(degrees * Math.PI / 180), b = C * Math.sin(degrees * Math.PI / 180);
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3, s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s].map((v) => {
    const x = Math.max(0, Math.min(1, v));
    return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
  });
}

/**
 * @param {number[]} parts
 */
const rgb = ([r, g, b]) => `rgb(${r},${g},${b})`;
/**
 * @param {number[]} parts
 * @param {number} [alpha]
 */
const pack = ([r, g, b], alpha = 255) => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;

/**
 * @param {string} text
 */
function ofName(text) {
  const h = hash(text), hue = hues[h % hues.length], step = Math.floor(h / hues.length) % 3;
  return theme.dark ? oklch([0.5, 0.59, 0.68][step], [0.085, 0.09, 0.085][step], hue) : oklch([0.62, 0.72, 0.81][step], [0.1, 0.09, 0.075][step], hue);
}

// read takes the page's colours from its style, after the theme has changed.
export function read() {
  const style = getComputedStyle(document.documentElement);
  for (const name of names) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.dark = style.getPropertyValue("--dark").trim() === "1";
  theme.packed = Object.fromEntries(names.map((name) => [name, pack(octets(theme[name]))]));
  const all = classes.map((c) => ofName(c.name));
  words = Uint32Array.from(all, (c) => pack(c));
  texts = all.map(rgb);
  inks = all.map((c) => (luminance(c) > 0.179 ? "#000000" : "#ffffff"));
}

/**
 * luminance is that of WCAG; letters are black or white, whichever stands out more.
 * @param {number[]} c
 */
const luminance = (c) => { const [r, g, b] = c.map((v) => { const x = v / 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
/**
 * @param {string} hex
 */
const octets = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/**
 * set chooses a theme: "light", "dark", or "" for what the system says.
 * @param {string} choice
 */
export function set(choice) {
  if (choice) document.documentElement.dataset.theme = choice;
  else delete document.documentElement.dataset.theme;
  try { localStorage.setItem("meridian.theme", choice); } catch { /* a file may have no storage */ }
  read();
  App.emit("theme", theme.dark ? "dark" : "light");
}

/**
 * @param {About} about
 */
export function open(about) {
  classes = about.classes;
  try { const kept = localStorage.getItem("meridian.theme"); if (kept) document.documentElement.dataset.theme = kept; } catch { /* likewise */ }
  read();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { read(); App.emit("theme"); });
}

/**
 * grow takes over classes that came later.
 * @param {About} about
 */
export function grow(about) {
  const known = classes.length;
  classes = about.classes;
  if (classes.length !== known) read();
}

/**
 * @param {number} c
 */
export const css = (c) => texts[c] ?? theme.dim;

/**
 * ofText is the colour of a name that no class has.
 * @param {string} text
 */
export const ofText = (text) => rgb(ofName(text));

/**
 * ink is the colour of letters on it.
 * @param {number} c
 */
export const ink = (c) => inks[c] ?? theme.text;

/**
 * @param {number} c
 */
export const packed = (c) => words[c] ?? theme.packed.dim;

/**
 * faded is a packed colour with another opacity, of 255.
 * @param {number} color
 * @param {number} alpha
 */
export const faded = (color, alpha) => ((color & 0xffffff) | (alpha << 24)) >>> 0;
