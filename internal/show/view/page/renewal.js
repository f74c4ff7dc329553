// renewal: what a panel lists is asked for again while the timeline grows: while the panel is shown and nothing in it has the focus, and for
// a fifth of the time at most.

import { App } from "./app.js";

const Rest = 4; // times as long as an answer took

/**
 * renew has a panel filled again when the timeline has grown.
 * @param {HTMLElement} body of the panel
 * @param {() => boolean} isOpen
 * @param {() => Promise<boolean | void>} fill true: there is more already than it was told
 */
export function renew(body, isOpen, fill) {
  let stale = false, running = false, done = 0, took = 0, due = 0;
  async function go() {
    if (!stale || running || !isOpen() || body.contains(document.activeElement)) return;
    clearTimeout(due);
    const begun = performance.now(), wait = done + Rest * took - begun;
    if (wait > 0) { due = setTimeout(go, wait); return; }
    stale = false;
    running = true;
    try {
      if (await fill()) stale = true;
    } finally {
      running = false;
      done = performance.now();
      took = Math.max(done - begun, 50);
      if (stale) go();
    }
  }
  App.on("tick", () => { stale = true; go(); });
  body.addEventListener("focusout", () => setTimeout(go));
}
