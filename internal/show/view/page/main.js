// main starts the page: first what draws the timeline, then the panels.

import { byId } from "./dom.js";
import { App, open, paint } from "./app.js";
import * as Against from "./against.js";
import * as Chain from "./chain.js";
import * as Clocks from "./clocks.js";
import * as Colors from "./colors.js";
import * as Data from "./data.js";
import * as Delays from "./delays.js";
import * as Details from "./details.js";
import * as Dock from "./dock.js";
import * as Draw from "./draw.js";
import * as Gaps from "./gaps.js";
import * as Help from "./help.js";
import * as History from "./history.js";
import * as Idle from "./idle.js";
import * as Keys from "./keys.js";
import * as Live from "./live.js";
import * as Measure from "./measure.js";
import * as Minimap from "./minimap.js";
import * as Notes from "./notes.js";
import * as Numbers from "./numbers.js";
import * as Order from "./order.js";
import * as Picture from "./picture.js";
import * as Pointer from "./pointer.js";
import * as Requests from "./requests.js";
import * as Rows from "./rows.js";
import * as Runs from "./runs.js";
import * as Search from "./search.js";
import * as Share from "./share.js";
import * as Switches from "./switches.js";
import * as Tables from "./tables.js";
import * as View from "./view.js";
import * as Violations from "./violations.js";

// The panels, in the order of their tabs.
const panels = [Details, Requests, Order, Measure, Search, Violations, Chain, Delays, Clocks, Switches, Numbers, Against, Tables, Notes, Idle, Share, History, Picture, Help, Gaps];

async function start() {
  const notice = byId("notice");
  let about;
  while (!about) {
    try {
      about = await Data.open();
    } catch (/** @type {any} */ error) {
      notice.hidden = false;
      const words = error.early ? "Nothing has been recorded yet. The timeline appears with the first events." : `The timeline could not be read: ${error.message}`;
      if (notice.textContent !== words) notice.textContent = words;
      if (!error.early) return;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
  notice.hidden = true;
  notice.textContent = "";
  open(about);
  Runs.open(about);
  View.open(about);
  Rows.open(about);
  Colors.open(about);
  Draw.open(about);
  Minimap.open(about);
  Dock.open(about);
  Pointer.open();
  Keys.open();
  Live.open(about);
  for (const kind of ["hidden", "order", "theme"]) App.on(kind, () => App.redraw());
  App.redraw();
  globalThis.meridian = App; // for the console, for tests and for benchmarks
  if (!location.hash) paint(performance.now()); // tiles are on their way while panels are made
  for (const panel of panels) App.on("ready", panel.start);
  App.emit("ready", about);
  document.documentElement.dataset.ready = "true";
}

start();
