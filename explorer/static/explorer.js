"use strict";
// The explorer's own behaviour: a live part that renews itself, figures that load when opened, filters, and the SQL box.
(() => {
  const live = document.querySelector("[data-live]");
  const title = document.title;
  const tell = () => { // in the tab of a page that is left open, and above it
    const told = live?.querySelector("[data-progress]")?.dataset;
    const note = document.querySelector("body > .note");
    if (told) document.title = told.progress ? `${told.progress} · ${title}` : title;
    if (told?.note && note) note.textContent = told.note;
  };
  tell();
  if (live?.dataset.every) {
    const renew = async () => {
      try {
        const answer = await fetch(live.dataset.live);
        if (answer.ok) {
          const open = new Set([...live.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
          live.innerHTML = await answer.text();
          for (const summary of live.querySelectorAll("details > summary")) if (open.has(summary.textContent)) summary.parentElement.open = true;
          tell();
          if (!live.querySelector(".s-running")) { location.reload(); return; } // the whole page says that the run is over
        }
      } catch { /* the server is gone or busy: try again */ }
      setTimeout(renew, Number(live.dataset.every));
    };
    setTimeout(renew, Number(live.dataset.every));
  }

  for (const part of document.querySelectorAll("details[data-figure]")) {
    part.addEventListener("toggle", () => {
      const image = part.querySelector("img[data-src]");
      if (part.open && image) { image.src = image.dataset.src; image.removeAttribute("data-src"); }
    });
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
