// <growth-plot>: how many memories counted, over time. What it draws it asks for once it is seen.
"use strict";
customElements.define("growth-plot", class extends HTMLElement {
  connectedCallback() {
    const seen = new IntersectionObserver((found) => {
      if (found.some((one) => one.isIntersecting)) { seen.disconnect(); this.draw(); }
    });
    seen.observe(this);
  }
  async draw() {
    const answer = await fetch(this.dataset.from, { headers: { accept: "application/json" } });
    const { days } = await answer.json();
    if (days.length < 2) return;
    await new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = this.dataset.plot; script.onload = done; script.onerror = fail;
      document.head.append(script);
    });
    this.plot(days);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plot(days));
    addEventListener("resize", () => this.drawn.setSize(this.size()));
  }
  size() { return { width: Math.max(240, this.clientWidth), height: 220 }; }
  plot(days) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--ink-2"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    this.drawn?.root.parentElement.remove();
    const box = document.createElement("div");
    this.prepend(box);
    this.drawn = new uPlot({
      ...this.size(), axes: [axis, { ...axis, size: 64 }], legend: { live: true },
      series: [{ label: "Day" }, { label: "Memories", stroke: colour("--accent"), width: 2, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }],
    }, [days.map((day) => Date.parse(day.date) / 1000), days.map((day) => day.counted)], box);
  }
});
