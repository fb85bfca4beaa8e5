"use strict";
// Sorting, filtering, finding and opening for the report; nothing here fetches anything, and the page reads well without it.
(() => {
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // Sorting.
  const number = (text) => {
    const value = Number.parseFloat(text.replace(/[−–]/g, "-").replace(/[,\s]/g, ""));
    return Number.isNaN(value) ? null : value;
  };
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return { empty: true };
    const raw = cell.dataset.sort || cell.textContent.trim();
    if (raw === "" || raw === "—") return { empty: true };
    const value = number(raw);
    return value === null ? { text: raw.toLowerCase() } : { value };
  };
  const order = (a, b) => {
    if (a.empty || b.empty) return (a.empty ? 1 : 0) - (b.empty ? 1 : 0);
    if (a.value !== undefined && b.value !== undefined) return a.value - b.value;
    return (a.text ?? String(a.value)).localeCompare(b.text ?? String(b.value));
  };
  const sortable = (table) => {
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    heads.forEach((head, column) => {
      const button = element("button", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        for (const body of table.tBodies) {
          const isHeading = (row) => row.cells.length === 1 && row.cells[0].scope === "rowgroup";
          const rows = [...body.rows].filter((row) => !isHeading(row)).map((row) => [key(row, column), row]);
          // Empty cells stay at the end in both directions: absent is not small and not large.
          rows.sort(([a], [b]) => (a.empty || b.empty ? order(a, b) : ascending ? order(a, b) : order(b, a)));
          body.append(...rows.map(([, row]) => row));
        }
      });
    });
  };

  // Filtering the rows of a table.
  const filtering = (input, table, count) => {
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) shown += 1;
      }
      if (count) count.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
    });
  };

  // A scroller that overflows says so, fades at the side where more is, and can be reached and moved with the keyboard.
  const more = (box) => box.toggleAttribute("data-more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  const reachable = (root) => {
    for (const box of root.querySelectorAll(".scroll, pre")) {
      if (box.matches(".scroll")) {
        box.toggleAttribute("data-wide", box.scrollWidth > box.clientWidth + 1);
        more(box);
      }
      if (box.scrollWidth <= box.clientWidth + 1 && box.scrollHeight <= box.clientHeight + 1) continue;
      const title = box.previousElementSibling?.textContent.trim().slice(0, 60);
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", box.tagName === "PRE" ? "text that scrolls" : `${box.querySelector("img") ? "figure" : "table"} that scrolls${title ? `: ${title}` : ""}`);
    }
  };

  addEventListener("resize", () => reachable(document));
  document.addEventListener("scroll", ({ target }) => {
    if (target instanceof Element && target.matches(".scroll")) more(target);
  }, { capture: true, passive: true });
  document.addEventListener("load", ({ target }) => { // an image has no size before it is there
    if (target.tagName === "IMG") reachable(target.closest("figure") ?? document);
  }, true);

  // Tables that are made when somebody looks at them.
  const tableOf = (columns, rows, isText) => {
    const cell = (tag, value, column) => element(tag, { textContent: value ?? "", className: isText(column) ? "text" : "" });
    const head = element("tr", {}, ...columns.map((name, i) => Object.assign(cell("th", name, i), { scope: "col" })));
    const body = rows.map((row) => element("tr", {}, ...row.map((value, i) => cell("td", value, i))));
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
    sortable(table);
    return element("div", { className: "scroll" }, table);
  };
  const copying = (pre) => {
    const button = element("button", { type: "button", className: "copy", textContent: "Copy the SQL" });
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
      } catch {
        getSelection().selectAllChildren(pre);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
    });
    return button;
  };
  let unpacked;
  const pack = () => {
    unpacked ??= (async () => {
      const text = atob(document.getElementById("pack").textContent);
      const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
      return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
    })();
    return unpacked;
  };
  const rowsOf = (data, answer) => {
    if (answer.error) return [element("p", { className: "note", textContent: answer.error })];
    const rows = answer.rows.map((row) => row.map((value, i) => (i === answer.cell ? data.cells[value] : value)));
    const isText = (column) => rows.some((row) => typeof row[column] === "string");
    const more = answer.total > rows.length ? `The first ${rows.length} of ${answer.total} rows. All of them: this query in orledger sql, or on the SQL page of orledger serve.` : `${rows.length} rows.`;
    if (rows.length === 1 && answer.columns.length > 8) {
      const pairs = answer.columns.map((name, i) => [name, rows[0][i]]).filter(([, value]) => value !== null && value !== "");
      return [tableOf(["column", "value"], pairs, () => true)];
    }
    if (!rows.length) return [element("p", { className: "soft", textContent: "No rows." })];
    const box = tableOf(answer.columns, rows, isText);
    if (rows.length <= 100) return [box, element("p", { className: "soft", textContent: more })];
    const input = element("input", { type: "search" });
    const count = element("span", { className: "soft", role: "status", textContent: more });
    filtering(input, box.firstChild, count);
    return [element("p", { className: "filter" }, element("label", {}, "Filter ", input), " ", count), box];
  };
  const fill = async (details) => {
    for (const pre of details.querySelectorAll(":scope > pre.sql")) pre.after(copying(pre));
    if (details.dataset.rows !== undefined) {
      const data = await pack();
      details.append(...rowsOf(data, data.answers[details.dataset.rows]));
    }
    reachable(details);
  };
  const filled = new WeakSet();
  document.addEventListener(
    "toggle",
    (event) => {
      if (!event.target.open || event.target.tagName !== "DETAILS" || filled.has(event.target)) return;
      filled.add(event.target);
      fill(event.target).catch((error) => event.target.append(element("p", { className: "note", textContent: `The rows could not be unpacked: ${error.message}` })));
    },
    true,
  );

  // A number opens to the records and the query behind it.
  const places = new Map();
  for (const note of document.querySelectorAll("[id^='behind-']")) {
    document.querySelectorAll(`a.n[href='#${CSS.escape(note.id)}']`).forEach((link, i) => places.set(link, [note.id.slice(7), i]));
  }
  const behind = async (link) => {
    const [table, nth] = places.get(link);
    const data = await pack();
    const row = link.closest("tr").cells[0].textContent.trim();
    const heading = document.getElementById(`table-${table}`)?.textContent.split(". ")[0] ?? table;
    const title = element("h2", { id: "behind-title", textContent: `${heading}, ${row}: ${link.textContent}` });
    const close = element("button", { type: "button", className: "copy close", textContent: "Close" });
    const dialog = element("dialog", { className: "behind" }, close, title);
    dialog.setAttribute("aria-labelledby", title.id);
    for (const place of data.numbers[table][nth]) {
      const [words, sql, answer] = data.opened[place];
      const pre = element("pre", { className: "sql", textContent: sql });
      const query = element("details", {}, element("summary", { textContent: "the query" }), pre, copying(pre));
      dialog.append(element("h3", { textContent: words }), ...rowsOf(data, data.answers[answer]), query);
    }
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    reachable(dialog);
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.n");
    if (!link || !places.has(link)) return;
    event.preventDefault();
    behind(link);
  });

  // Where one is, and finding.
  const nav = document.getElementById("contents");
  if (nav) {
    const links = [...nav.querySelectorAll("a")].map((a) => [a, document.getElementById(a.hash.slice(1))]).filter(([, target]) => target);
    let here;
    const look = () => {
      let now = links[0];
      for (const link of links) if (link[1].getBoundingClientRect().top < 120) now = link;
      if (now === here) return;
      here?.[0].removeAttribute("aria-current");
      here = now;
      here[0].setAttribute("aria-current", "true");
      const part = here[0].closest("nav > ol > li");
      for (const item of nav.querySelectorAll("li.here")) item.classList.remove("here");
      part.classList.add("here");
      if (getComputedStyle(nav).position === "sticky") {
        const [box, place] = [nav.getBoundingClientRect(), here[0].getBoundingClientRect()];
        if (place.top < box.top || place.bottom > box.bottom) nav.scrollTop += place.top - box.top - box.height / 3;
      }
    };
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        look();
      });
    }, { passive: true });
    nav.classList.add("spy");
    look();
    const input = document.getElementById("find");
    input.closest("p").hidden = false;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (item) => words.every((word) => item.textContent.toLowerCase().includes(word));
      nav.classList.toggle("finding", words.length > 0);
      let found = 0;
      for (const item of nav.querySelectorAll("ol > li")) {
        const leaf = !item.querySelector("ol");
        item.hidden = words.length > 0 && !fits(item) && ![...item.querySelectorAll("li")].some(fits);
        if (leaf && !item.hidden) found += 1;
      }
      document.getElementById("find-count").textContent = words.length ? `${found} found` : "";
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !input.value) return;
      event.preventDefault();
      [...nav.querySelectorAll("li:not([hidden])")].find((item) => !item.querySelector("ol"))?.querySelector("a").click();
    });
  }

  for (const table of document.querySelectorAll("table.sortable, .ledger-table table")) sortable(table);
  for (const input of document.querySelectorAll("input[data-filter]")) {
    filtering(input, document.getElementById(input.dataset.filter), document.getElementById(`${input.dataset.filter}-count`));
  }
  reachable(document);
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();
