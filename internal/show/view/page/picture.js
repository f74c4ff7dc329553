// picture: what is in sight as a PNG: the ruler, the names and the rows with what lies over them, as they stand.

import { App } from "./app.js";
import { byId, canvasById, context } from "./dom.js";
import * as Axis from "./axis.js";
import * as Save from "./save.js";

/**
 * draw paints what is in sight on one canvas, in the page's colours.
 */
export function draw() {
  Axis.draw();
  const ratio = devicePixelRatio, stage = byId("stage").getBoundingClientRect(), picture = document.createElement("canvas"), g = context(picture), { theme } = App;
  picture.width = Math.round(stage.width * ratio);
  picture.height = Math.round(stage.height * ratio);
  g.scale(ratio, ratio);
  g.fillStyle = theme.ground;
  g.fillRect(0, 0, stage.width, stage.height);
  for (const id of ["ruler", "rows", "over"]) {
    const canvas = canvasById(id), box = canvas.getBoundingClientRect();
    g.drawImage(canvas, box.left - stage.left, box.top - stage.top, box.width, box.height);
  }
  g.save();
  const names = byId("names").getBoundingClientRect();
  g.beginPath();
  g.rect(names.left - stage.left, names.top - stage.top, names.width, names.height);
  g.clip();
  g.textBaseline = "middle";
  for (const element of byId("names").querySelectorAll(".name, .band")) {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element), text = element.querySelector(".text"), bound = element.querySelector(".bound");
    if (box.bottom < names.top || box.top > names.bottom) continue;
    const y = box.top - stage.top + (element.matches(".host, .band") ? box.height / 2 : 11), left = (text ?? element).getBoundingClientRect().left - stage.left;
    if (element.matches(".host, .kind, .band")) { g.fillStyle = theme.panel; g.fillRect(box.left - stage.left, box.top - stage.top, box.width, box.height); }
    g.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const room = (bound ? bound.getBoundingClientRect().left : box.right) - stage.left - left - 6;
    g.fillStyle = element.matches(".kind") ? theme.dim : element.matches(".band") ? theme.undecidable : theme.text;
    g.fillText((text ?? element).textContent ?? "", left + (text ? 0 : 20), y, Math.max(10, room));
    if (bound) {
      g.font = getComputedStyle(bound).font;
      g.fillStyle = theme.bound;
      g.fillText(bound.textContent ?? "", bound.getBoundingClientRect().left - stage.left, y);
    }
  }
  g.restore();
  return picture;
}

export function save() {
  draw().toBlob((blob) => { if (blob) Save.file("timeline.png", blob); }, "image/png");
  App.announce("what is in sight is saved as timeline.png");
}

export function start() {
  App.command({ id: "picture", key: "P", title: "Save what is in sight as a picture (PNG)", group: "view", run: save });
}
