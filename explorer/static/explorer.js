"use strict";
// The explorer's own behaviour: a live part that renews itself, figures that load when opened, filters, and the SQL box.
(() => {
  const live = document.querySelector("[data-live]");
  const note = document.querySelector("body > .note");
  const title = document.title;
  let seen = document.body.dataset.mark; // what of the database this page shows
  let ahead = 0; // milliseconds that the clock of the server is ahead of this one
  let shown = "";
  let said = [note.textContent, note.dataset.taken ?? ""];
  const age = () => {
    const old = note.querySelector("[data-age]");
    if (!old) return;
    const seconds = Math.max(0, Math.round((Date.now() + ahead) / 1000 - Number(note.dataset.taken)));
    const hours = Math.floor(seconds / 3600);
    const minutes = Math.floor(seconds / 60) % 60;
    old.textContent = `, ${hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${seconds} s`} ago`;
  };
  const say = (text, taken = "", ...more) => {
    shown = text;
    note.hidden = !text;
    note.dataset.taken = taken;
    note.replaceChildren(text, ...more);
    if (taken) {
      const old = document.createElement("span"); // changes all the time: nobody wants to hear that
      old.dataset.age = "";
      old.setAttribute("aria-hidden", "true");
      note.append(old);
      age();
    }
  };
  const tell = () => { // in the tab of a run that is left open, and above it
    const told = live?.querySelector("[data-progress]")?.dataset;
    if (!told) return;
    document.title = told.progress ? `${told.progress} · ${title}` : title;
    said = [told.note, told.taken];
  };
  const replace = (text) => { // what was open, scrolled or had the focus stays so
    const name = (e) => `${e.tagName} ${e.getAttribute("href") ?? e.textContent}`;
    const open = new Set([...live.querySelectorAll("details[open] > summary")].map(name));
    const moved = [...live.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    const focus = live.contains(document.activeElement) ? name(document.activeElement) : null;
    live.innerHTML = text;
    dispatchEvent(new Event("resize")); // what scrolls is looked for anew
    for (const summary of live.querySelectorAll("details > summary")) if (open.has(name(summary))) summary.parentElement.open = true;
    const boxes = [...live.querySelectorAll(".scroll")];
    if (boxes.length === moved.length) boxes.forEach((box, i) => { box.scrollLeft = moved[i]; });
    if (focus) [...live.querySelectorAll("a, summary")].find((e) => name(e) === focus)?.focus({ preventScroll: true });
  };
  const isRunning = () => Boolean(live?.querySelector(".s-running"));
  const changed = async () => { // true when this page goes on looking
    if (!live) {
      const link = document.createElement("a");
      link.href = location.pathname + location.search;
      link.textContent = "Show them";
      say("Newer results are there. ", "", link);
      return false;
    }
    const answer = isRunning() ? await fetch(live.dataset.live) : null;
    if (answer?.ok) replace(await answer.text());
    if (answer?.ok && isRunning()) { tell(); return true; }
    location.reload(); // a run began or is over: the whole page says so
    return false;
  };
  const look = async () => {
    if (live || !document.hidden) {
      try {
        const answer = await fetch("/mark");
        if (!answer.ok) throw new Error(answer.statusText);
        const found = await answer.text();
        ahead = (Date.parse(answer.headers.get("date")) || Date.now()) - Date.now();
        if (found !== seen && !(await changed())) return;
        seen = found;
        if (shown === said[0]) age();
        else say(...said);
      } catch {
        say("The explorer does not answer any more: this page shows what it showed before.");
      }
    }
    setTimeout(look, live ? 2000 : 5000);
  };
  tell();
  say(...said);
  if (seen) setTimeout(look, live ? 2000 : 5000);

  for (const part of document.querySelectorAll("details[data-figure]")) {
    part.addEventListener("toggle", () => {
      const image = part.querySelector("img[data-src]");
      if (part.open && image) { image.src = image.dataset.src; image.removeAttribute("data-src"); }
    });
  }

  // Many arms are chosen and left out together.
  for (const fields of document.querySelectorAll("fieldset[data-all]")) {
    const boxes = [...fields.querySelectorAll("input[type=checkbox]")];
    if (boxes.length < 7) continue;
    fields.querySelector("legend").after(...[["all", true], ["none", false]].map(([text, checked]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => { for (const box of boxes) box.checked = checked; });
      return button;
    }));
  }

  // What is left empty is not part of the address, and neither are columns that nobody chose.
  for (const form of document.querySelectorAll("form[data-short]")) {
    form.addEventListener("submit", () => {
      for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
    });
    for (const part of form.querySelectorAll("details[data-choice]")) {
      const fields = part.querySelector("fieldset");
      const follow = () => { fields.disabled = !part.open; };
      part.addEventListener("toggle", follow);
      follow();
    }
  }
  addEventListener("pageshow", (event) => { // back again, as the browser kept the page
    if (event.persisted) for (const field of document.querySelectorAll("form[data-short] [name]")) field.disabled = false;
  });

  const box = document.querySelector("textarea[data-sql]");
  if (box) {
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); box.form.requestSubmit(); }
    });
    const key = "orledger.queries";
    const list = document.querySelector("[data-saved]");
    const load = () => { try { return JSON.parse(localStorage.getItem(key) || "[]"); } catch { return []; } };
    const show = () => {
      list.replaceChildren(...load().map((query) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = `/sql?q=${encodeURIComponent(query)}`;
        link.textContent = query.replace(/\s+/g, " ").slice(0, 100);
        const gone = document.createElement("button");
        gone.type = "button";
        gone.textContent = "forget";
        gone.addEventListener("click", () => { localStorage.setItem(key, JSON.stringify(load().filter((q) => q !== query))); show(); });
        item.append(link, " ", gone);
        return item;
      }));
    };
    const save = document.querySelector("[data-save]");
    save.hidden = false;
    save.addEventListener("click", () => {
      if (box.value.trim()) localStorage.setItem(key, JSON.stringify([...new Set([box.value, ...load()])].slice(0, 30)));
      show();
    });
    show();
  }
})();
