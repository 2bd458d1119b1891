// Keys, the space chooser, and news of changes. Every page works without this file.
"use strict";
(() => {
  const find = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isShown = (el) => el.getClientRects().length > 0 && !el.disabled;
  // The key of a card counts while one is at that card.
  const isMeant = (el) => isShown(el) && !el.closest("[data-card]:not([data-current])");
  document.documentElement.dataset.script = "";
  for (const el of all("[data-script]")) el.hidden = false;

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });

  // Another space, the same question: what was typed since stands in the address alone.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.space")) return;
    const typed = new URLSearchParams(location.search);
    for (const field of event.target.querySelectorAll("input[data-kept]")) field.value = typed.get(field.name) ?? "";
  });

  // After a change one is where one was, with the toast above.
  const placeKey = `reverie:place:${location.pathname}`;
  try {
    const place = Number(sessionStorage.getItem(placeKey) || 0);
    sessionStorage.removeItem(placeKey);
    if (place && find(".toast")) scrollTo(0, place + find(".toast").offsetHeight);
    document.addEventListener("submit", (event) => {
      if (event.target.matches("form[method=post]")) sessionStorage.setItem(placeKey, String(scrollY));
    });
  } catch { /* a browser that keeps nothing */ }

  // Keys: an element says its own with data-key or, after g, data-go.
  const typing = (el) => el.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  // While data-after says "g", the next key is the name of a page: cards.js looks there too.
  const root = document.documentElement;
  let goes = 0;
  const showKeys = () => {
    const dialog = find("#keys"), list = dialog.querySelector("dl");
    const rows = [...(find("[data-find]") ? [["/", "Search"]] : []), ["?", "These keys"]];
    for (const el of all("[data-go]")) if (el.dataset.go) rows.push([`g ${el.dataset.go}`, el.firstChild.textContent.trim()]);
    const cards = all("[data-cards] [data-card]").length;
    // Of one card alone there is no next one.
    const moves = JSON.parse(document.documentElement.dataset.cardKeys || "[]").filter(([key]) => cards > (key === "x" ? 0 : 1));
    rows.push(...moves);
    const seen = new Set(moves.map(([key]) => key));
    for (const el of all("[data-key]")) {
      if (!isMeant(el) || seen.has(el.dataset.key)) continue;
      seen.add(el.dataset.key);
      rows.push([el.dataset.key, el.dataset.name || el.firstChild.textContent.trim()]);
    }
    list.replaceChildren(...rows.flatMap(([key, name]) => {
      const term = document.createElement("dt"), told = document.createElement("dd");
      const mark = document.createElement("kbd");
      mark.textContent = key; told.textContent = name; term.append(mark);
      return [term, told];
    }));
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys]")) showKeys();
    // What opens is opened to be typed into, by the mouse too.
    const box = event.target.closest("summary")?.parentElement;
    if (!box?.matches("details.opens:not([open])")) return;
    setTimeout(() => {
      // Who was quicker, and is further in it already, stays there.
      const at = document.activeElement;
      if (!box.contains(at) || at.matches("summary")) box.querySelector("textarea, input:not([type=hidden])")?.focus();
    });
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
    if (typing(event.target) || find("dialog[open]")) return;
    const isAfterG = root.dataset.after === "g";
    clearTimeout(goes);
    delete root.dataset.after;
    let target = null;
    if (isAfterG) target = all("[data-go]").find((el) => el.dataset.go === event.key);
    else if (event.key === "g") {
      root.dataset.after = "g";
      goes = setTimeout(() => { delete root.dataset.after; }, 1500);
      return;
    }
    else if (event.key === "?") { showKeys(); event.preventDefault(); return; }
    else if (event.key === "/") {
      const field = find("[data-find]");
      if (field) { field.focus(); field.select(); event.preventDefault(); }
      return;
    } else target = all("[data-key]").find((el) => el.dataset.key === event.key && isMeant(el));
    if (!target) return;
    event.preventDefault();
    if (target.matches("input:not([type=checkbox]), textarea, select")) { target.focus(); return; }
    target.click();
    // What opens is opened to be typed into.
    const box = target.closest("details[open]");
    const field = box && box.querySelector("textarea, input:not([type=hidden]), select");
    if (target.matches("summary") && field) field.focus();
  });

  // What follows the news may need a script, which is loaded with the first of them.
  const loads = {};
  const follow = async (el) => {
    const from = el.dataset.needs;
    if (from) await (loads[from] ||= new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = from; script.onload = () => setTimeout(done); script.onerror = fail;
      document.head.append(script);
    }));
    if (el.isConnected) el.dispatchEvent(new CustomEvent("reverie:follow"));
  };

  // News. A hidden page does not listen: browsers allow six connections to one address.
  let stream = null, last = Number(document.body.dataset.seen || 0);
  const hear = (event) => {
    const told = JSON.parse(event.data);
    // What this page was made after is no news: mostly one's own change.
    if (told.last <= last) return;
    last = told.last;
    document.dispatchEvent(new CustomEvent("reverie:events", { detail: told }));
    for (const el of all("[data-follow]")) {
      const verbs = el.dataset.follow.split(" ");
      if (told.verbs.some((verb) => verbs.includes(verb))) follow(el);
    }
    const changed = new Set(told.memories);
    if (all("[data-memory]").some((el) => changed.has(el.dataset.memory))) find("#changed").hidden = false;
  };
  const listen = () => {
    if (document.hidden) { stream?.close(); stream = null; }
    else if (!stream) { stream = new EventSource(`/live?after=${last}`); stream.onmessage = hear; }
  };
  if (find("#changed")) { document.addEventListener("visibilitychange", listen); listen(); }
  addEventListener("pagehide", () => { stream?.close(); stream = null; });
})();
