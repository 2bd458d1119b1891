// The map: a graph drawn by sigma, a slider of time, and the same as a table beside it.
"use strict";

const DAY = 86400;
const ROWS = 60;
const HUES = 8;
const MOST_DRAFTS = 20;
// Tags, groups and files with so many ties have their names beside them.
const NAMED_FROM = 8;
// So few nodes have room for more names, and for larger dots.
const FEW_NODES = 300;
const FEW_NAMED_FROM = 2;

const day = (at) => new Date(at * 1000).toISOString().slice(0, 10);
const blend = (cold, hot, share) => {
  const part = (colour, place) => parseInt(colour.slice(1 + 2 * place, 3 + 2 * place), 16);
  const mixed = [0, 1, 2].map((place) => Math.round(part(cold, place) * (1 - share) + part(hot, place) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
};

customElements.define("memory-map", class extends HTMLElement {
  connectedCallback() {
    this.by = this.dataset.by;
    this.at = Infinity;
    this.shown = ROWS;
    this.wanted = "";
    this.load();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.readColours());
  }

  find(name) { return this.querySelector(`[data-${name}]`); }

  async load() {
    const answer = await fetch(this.dataset.from, { headers: { accept: "application/json" } });
    if (!answer.ok) { this.find("status").textContent = "The map could not be read. Load the page again."; return; }
    const isFirst = !this.map;
    this.map = await answer.json();
    // Spaces and signs that only steer others cannot be pressed.
    for (const node of this.map.nodes) if (!/[^\p{C}\p{Z}\p{M}]/u.test(node.label)) node.label = "(nothing that can be seen)";
    this.span = [this.map.began, this.map.ended];
    if (!this.map.nodes.length) {
      document.querySelector("[data-empty]").hidden = false;
      this.hidden = true;
      return;
    }
    this.authors = this.count("author");
    this.readColours();
    if (isFirst) this.listen();
    this.fillTable();
    this.sigma?.kill();
    this.draw();
    // A draft stands until the map is laid out, a second or two.
    if (this.map.is_draft && (this.drafts = (this.drafts || 0) + 1) < MOST_DRAFTS) setTimeout(() => this.load(), 1500);
  }

  count(name) {
    const counts = new Map();
    for (const node of this.map.nodes) if (node[name]) counts.set(node[name], (counts.get(node[name]) || 0) + 1);
    return [...counts].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
  }

  readColours() {
    const style = getComputedStyle(this);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.hues = Array.from({ length: HUES }, (_, number) => read(`c${number}`));
    for (const name of ["alone", "gone", "tie", "cold", "hot", "ink", "surface"]) this[name] = read(name);
    this.named = new Map(this.map.communities.map((one) => [one.number, one.name]));
    this.writeLegend();
    if (this.sigma) {
      this.sigma.setSetting("labelColor", { color: this.ink });
      this.sigma.refresh();
    }
  }

  isSo(node) { return node.began <= this.at && (!node.ended || node.ended > Math.min(this.at, this.map.ended)); }

  colour(node) {
    if (this.by === "heat") return node.what === "memory" ? blend(this.cold, this.hot, node.heat) : this.alone;
    if (this.by === "age") return blend(this.cold, this.hot, this.ageShare(node));
    if (this.by === "author") {
      const place = this.authors.slice(0, HUES).findIndex(([name]) => name === node.author);
      return place < 0 ? this.alone : this.hues[place];
    }
    return this.named.has(node.community) ? this.hues[node.community % HUES] : this.alone;
  }

  ageShare(node) { return (node.began - this.span[0]) / Math.max(DAY, this.span[1] - this.span[0]); }

  writeLegend() {
    const rows = {
      community: () => this.map.communities.slice(0, HUES).map((one) => [this.hues[one.number % HUES], `${one.name} (${one.size})`]),
      author: () => this.authors.slice(0, HUES).map(([name, times], place) => [this.hues[place], `${name} (${times})`]),
      heat: () => [[this.cold, "faded"], [this.hot, "fresh in memory"], [this.alone, "tags, groups, files"]],
      age: () => [[this.cold, day(this.span[0])], [this.hot, day(this.span[1])]],
    }[this.by]();
    this.find("legend").replaceChildren(...[...rows, [this.gone, "not yet, or no longer so"]].map(([colour, text]) => {
      const row = document.createElement("li");
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [name, value] of [["width", 11], ["height", 11], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
      for (const [name, value] of [["cx", 5.5], ["cy", 5.5], ["r", 5.5], ["fill", colour]]) dot.setAttribute(name, value);
      svg.append(dot);
      const name = document.createElement("bdi");
      name.textContent = text.length > 60 ? `${text.slice(0, 58)} …` : text;
      row.append(svg, name);
      return row;
    }));
  }

  listen() {
    this.find("by").addEventListener("change", (event) => { this.by = event.target.value; this.writeLegend(); this.sigma?.refresh(); });
    this.find("time").addEventListener("input", (event) => {
      const share = Number(event.target.value) / 1000;
      this.at = share >= 1 ? Infinity : this.span[0] + share * (this.span[1] - this.span[0]);
      const said = share >= 1 ? "today" : day(this.at);
      this.find("day").textContent = said;
      event.target.setAttribute("aria-valuetext", said);
      this.sigma?.refresh();
      this.fillTable();
    });
    this.find("search").addEventListener("input", (event) => {
      this.wanted = event.target.value.trim().toLowerCase();
      this.shown = ROWS;
      this.sigma?.refresh();
      this.fillTable();
    });
    this.find("more").addEventListener("click", () => { this.shown += ROWS; this.fillTable(); });
  }

  isWanted(node) { return !this.wanted || node.label.toLowerCase().includes(this.wanted); }

  fillTable() {
    const nodes = this.map.nodes.filter((node) => this.isWanted(node));
    const so = nodes.filter((node) => this.isSo(node)).length;
    nodes.sort((one, other) => this.isSo(other) - this.isSo(one) || other.links - one.links);
    const more = this.map.chosen ? ", chosen from more memories" : "";
    this.find("status").textContent = `${so.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} ${this.at === Infinity ? "are so today" : "were so then"}${more}`;
    this.find("rows").replaceChildren(...nodes.slice(0, this.shown).map((node) => this.row(node)));
    this.find("more").hidden = nodes.length <= this.shown;
  }

  address(node) {
    const space = new URLSearchParams(new URL(this.dataset.from, location).search).get("space");
    const more = space ? [["space", space]] : [];
    if (node.what === "memory") return `/memory/${encodeURIComponent(node.id)}${more.length ? `?${new URLSearchParams(more)}` : ""}`;
    if (node.what === "tag") return `/ask?${new URLSearchParams([...more, ["tag", node.label]])}`;
    return "";
  }

  row(node) {
    const row = document.createElement("tr");
    row.toggleAttribute("data-not", !this.isSo(node));
    const [name, ties, from] = [document.createElement("td"), document.createElement("td"), document.createElement("td")];
    const address = this.address(node);
    const link = document.createElement(address ? "a" : "bdi");
    if (address) link.href = address;
    link.dir = "auto";
    link.textContent = node.what === "tag" ? `#${node.label}` : node.label;
    name.append(link);
    ties.className = "number";
    ties.textContent = node.links;
    from.textContent = day(node.began);
    row.append(name, ties, from);
    row.addEventListener("mouseenter", () => { this.near = node.id; this.sigma?.refresh({ skipIndexation: true }); });
    row.addEventListener("mouseleave", () => { this.near = ""; this.sigma?.refresh({ skipIndexation: true }); });
    return row;
  }

  draw() {
    const graph = new graphology.Graph({ type: "undirected", multi: false });
    const isSmall = this.map.nodes.length <= FEW_NODES;
    const size = (node) => (isSmall ? 1.4 : 1) * (2 + 1.3 * Math.log1p(node.links));
    const isNamed = (node) => node.what !== "memory" && node.links >= (isSmall ? FEW_NAMED_FROM : NAMED_FROM);
    for (const node of this.map.nodes) graph.addNode(node.id, { x: node.x, y: -node.y, size: size(node), label: node.label, node, forceLabel: isNamed(node) });
    for (const link of this.map.links) graph.addEdge(this.map.nodes[link.one].id, this.map.nodes[link.other].id, { size: 0.5 });
    try {
      this.sigma = new Sigma(graph, this.find("canvas"), {
        labelColor: { color: this.ink },
        labelFont: "system-ui, sans-serif",
        labelSize: 13,
        labelRenderedSizeThreshold: 7,
        labelDensity: 0.6,
        zIndex: true,
        defaultDrawNodeHover: (context, data, settings) => this.drawHover(context, data, settings),
        nodeReducer: (id, data) => this.reduceNode(id, data),
        edgeReducer: (id, data) => this.reduceEdge(graph, id, data),
      });
    } catch {
      this.find("canvas").textContent = "This browser draws no WebGL: the table has all of it.";
      return;
    }
    this.sigma.on("clickNode", ({ node }) => {
      const address = this.address(graph.getNodeAttribute(node, "node"));
      if (address) location.assign(address);
    });
    this.sigma.on("enterNode", () => { this.find("canvas").style.cursor = "pointer"; });
    this.sigma.on("leaveNode", () => { this.find("canvas").style.cursor = ""; });
    this.dataset.drawn = Math.round(performance.now());
  }

  reduceNode(id, data) {
    const so = this.isSo(data.node) && this.isWanted(data.node);
    const near = id === this.near;
    return { ...data, color: so || near ? this.colour(data.node) : this.gone, label: so || near ? data.label : "", forceLabel: near || (so && data.forceLabel), zIndex: so ? 1 : 0, highlighted: near, size: near ? data.size + 3 : data.size };
  }

  reduceEdge(graph, id, data) {
    const [one, other] = graph.extremities(id).map((end) => graph.getNodeAttribute(end, "node"));
    return { ...data, color: this.tie, hidden: !(this.isSo(one) && this.isSo(other)) };
  }

  drawHover(context, data, settings) {
    context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
    const wide = context.measureText(data.label || "").width;
    context.fillStyle = this.surface;
    context.fillRect(data.x - 4, data.y - 12, wide + data.size + 16, 24);
    context.fillStyle = data.color;
    context.beginPath();
    context.arc(data.x, data.y, data.size, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = this.ink;
    context.fillText(data.label || "", data.x + data.size + 4, data.y + 5);
  }
});
