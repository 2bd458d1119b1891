// Cards one after the other: j and k, x selects. In a list marked data-cards="one" a card is shown
// alone, else it is only marked. Without this file all cards stand below each other.
"use strict";
// <later-part>: a part of another page, which takes its place once it is seen. Where the feed was
// replaced, what it was before stands there until it has come anew: one may be at a card in it.
const partsBefore = new Map();
customElements.define("later-part", class extends HTMLElement {
  connectedCallback() {
    const before = partsBefore.get(this.dataset.part);
    if (before) this.replaceChildren(before);
    const seen = new IntersectionObserver((found) => {
      if (found.some((one) => one.isIntersecting)) { seen.disconnect(); this.load().catch(() => {}); }
    });
    seen.observe(this);
  }
  // Where it cannot be had, its link stays.
  async load() {
    const answer = await fetch(this.dataset.from);
    const page = new DOMParser().parseFromString(answer.ok ? await answer.text() : "", "text/html");
    const part = page.querySelector(this.dataset.part);
    if (!part || !this.isConnected) return;
    this.replaceWith(part);
    partsBefore.set(this.dataset.part, part);
    document.dispatchEvent(new CustomEvent("reverie:part"));
  }
});
(() => {
  const find = () => document.querySelector("[data-cards]");
  if (!find()) return;
  // Looked up each time: a feed replaces its cards while it is shown.
  const list = () => [...document.querySelectorAll("[data-cards] [data-card]")];
  const isAlone = find().dataset.cards === "one";
  const place = document.querySelector("[data-place]");
  // For the list of keys, which app.js shows.
  document.documentElement.dataset.cardKeys = JSON.stringify([
    ["j", "Next"], ["k", "Back"], ...(document.querySelector("[data-select]") ? [["x", "Select"]] : []),
  ]);
  const key = `reverie:card:${location.pathname}`;
  let at = 0, current = "";
  // A feed has a memory in many turns.
  const nameOf = (card) => [card.closest("article")?.getAttribute("aria-label"), card.dataset.memory, card.id].join(" ");
  const show = (next, scroll = true) => {
    const cards = list();
    if (!cards.length) return;
    at = Math.max(0, Math.min(cards.length - 1, next));
    cards.forEach((card, n) => {
      if (isAlone) card.hidden = n !== at;
      card.toggleAttribute("data-current", n === at);
    });
    current = nameOf(cards[at]);
    if (place) place.textContent = `${at + 1} of ${cards.length}`;
    try { sessionStorage.setItem(key, String(at)); } catch { /* a browser that keeps nothing */ }
    if (!isAlone && scroll) cards[at].scrollIntoView({ block: "nearest" });
  };
  const bulk = document.querySelector("[data-bulk]");
  const count = () => {
    const chosen = list().filter((card) => card.querySelector("[data-select]")?.checked).length;
    if (!bulk) return;
    bulk.hidden = chosen === 0;
    bulk.querySelector("[data-count]").textContent = String(chosen);
  };
  document.addEventListener("change", (event) => { if (event.target.matches("[data-select]")) count(); });
  // Before app.js: the keys of the current card come first, and those of a selection before these.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (document.documentElement.dataset.after) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
    const take = () => { event.preventDefault(); event.stopImmediatePropagation(); };
    const cards = list(), card = cards.find((one) => one.hasAttribute("data-current"));
    if (!cards.length) return;
    if (event.key === "j") { show(card ? at + 1 : at); take(); }
    else if (event.key === "k") { show(at - 1); take(); }
    else if (event.key === "x") {
      const box = card?.querySelector("[data-select]");
      if (box) { box.checked = !box.checked; count(); take(); if (box.checked && at < cards.length - 1) show(at + 1); }
    } else {
      const from = bulk && !bulk.hidden ? bulk.querySelector(`[data-key="${CSS.escape(event.key)}"]`) : null;
      const own = from || card?.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (own && own.getClientRects().length) {
        take(); own.click();
        if (own.matches("summary")) own.parentElement.querySelector("textarea, input:not([type=hidden])")?.focus();
      }
    }
  }, true);
  for (const el of document.querySelectorAll("[data-step]")) {
    el.addEventListener("click", () => show(at + Number(el.dataset.step)));
  }
  // A feed that was replaced: one stays at the card at which one was. Where that is gone one is at
  // none, until one goes on: a key is not to judge what was not looked at.
  const stay = () => {
    const cards = list(), found = cards.findIndex((card) => nameOf(card) === current);
    if (found >= 0 || isAlone || !current) show(found >= 0 ? found : at, false);
    else cards.forEach((card) => card.removeAttribute("data-current"));
  };
  document.addEventListener("htmx:after:swap", stay);
  document.addEventListener("reverie:part", stay);
  const hash = list().findIndex((card) => `#${card.id}` === location.hash);
  // Cards shown alone go on where one was; a list begins at its top.
  show(hash >= 0 ? hash : isAlone ? Number(sessionStorage.getItem(key) || 0) : 0, false);
  count();
})();
