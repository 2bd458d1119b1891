// <decay-plot>: what is left of a memory that nobody uses. What it draws it asks for once it is seen.
"use strict";
customElements.define("decay-plot", class extends HTMLElement {
  connectedCallback() {
    const seen = new IntersectionObserver((found) => {
      if (found.some((one) => one.isIntersecting)) { seen.disconnect(); this.load(); }
    });
    seen.observe(this);
  }
  async load() {
    const answer = await fetch(this.dataset.from, { headers: { accept: "application/json" } });
    const found = await answer.json();
    if (!found.kinds.length) return;
    if (!globalThis.uPlot) await new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = this.dataset.plot; script.onload = done; script.onerror = fail;
      document.head.append(script);
    });
    this.draw(found);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(found));
    addEventListener("resize", () => this.drawn.setSize(this.size()));
  }
  size() { return { width: Math.max(240, this.clientWidth), height: 220 }; }
  draw({ days, kinds, left }) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const line = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: colour("--ink-2"), grid: line, ticks: line };
    const percent = (value) => value === null ? "–" : `${Math.round(100 * value)}%`;
    // Told apart by how they are dashed too, for who sees no colours.
    const looks = [["--accent", []], ["--bad", [8, 4]], ["--good", [2, 4]], ["--ink-2", [8, 4, 2, 4]]];
    const curve = (one, place) => ({ label: one.kind, stroke: colour(looks[place][0]), dash: looks[place][1], width: 2, points: { show: false }, value: (_, value) => percent(value) });
    this.drawn?.root.parentElement.remove();
    const box = document.createElement("div");
    this.prepend(box);
    this.drawn = new uPlot({
      ...this.size(), legend: { live: true }, scales: { x: { time: false }, y: { range: [0, 1] } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map((day) => `${day} d`) }, { ...axis, size: 64, values: (_, ticks) => ticks.map(percent) }],
      series: [{ label: "Days without use" }, ...kinds.map(curve)],
    }, [days, ...left], box);
  }
});
