// clocks: pictures of how the clocks wandered, as show/plot.go draws them. They are unpacked when somebody looks. Of what
// comes out only these elements and attributes are made anew, and names in them only ever become text nodes.

const drawable = new Map(Object.entries({
  svg: ["class", "role", "viewBox", "x", "y", "width", "height"],
  rect: ["class", "x", "y", "width", "height"],
  path: ["class", "d"],
  text: ["class", "x", "y", "text-anchor", "transform"],
}));

// copied makes a drawing anew; its title becomes a label, because a tooltip would follow the pointer everywhere.
function copied(node) {
  const made = document.createElementNS(node.namespaceURI, node.localName);
  for (const name of drawable.get(node.localName)) {
    if (node.hasAttribute(name)) made.setAttribute(name, node.getAttribute(name));
  }
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data);
    else if (drawable.has(child.localName)) made.append(copied(child));
    else if (child.localName === "title") made.setAttribute("aria-label", child.textContent);
  }
  return made;
}

function pictureOf(svg) {
  const { documentElement: root } = new DOMParser().parseFromString(svg, "image/svg+xml");
  if (root.localName !== "svg" || root.querySelector("parsererror")) throw new Error("a picture is damaged");
  return element("figure", "", copied(root));
}

function fillClocks({ hosts, pairs, left }) {
  const section = document.getElementById("clocks"), place = document.getElementById("pictures");
  const data = document.getElementById("drawings"), packed = data.textContent;
  data.remove();
  section.hidden = !(hosts + pairs);
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const drawn = [hosts && plural(hosts, "host"), pairs && plural(pairs, "pair")].filter(Boolean).join(", ");
  document.getElementById("drawn").textContent = `Clocks over time: ${drawn}`;
  const group = (title, figures) => figures.length ? [element("h2", "", title), element("div", "", ...figures)] : [];
  const show = async () => {
    const figures = JSON.parse(new TextDecoder().decode(await inflate(packed))).map(pictureOf);
    place.replaceChildren(...(left ? [element("p", "", left)] : []),
      ...group("Hosts: offset over time, with bounds", figures.slice(0, hosts)),
      ...group("Pairs: messages, hulls, estimate and bounds", figures.slice(hosts)));
  };
  const opened = () => show().catch((error) => {
    place.replaceChildren(element("p", "", `The pictures cannot be shown: ${error.message}`));
  }).finally(() => { section.dataset.ready = "true"; });
  if (section.open) opened(); // a browser that remembered it
  else section.addEventListener("toggle", opened, { once: true });
}
