"use strict";
// Sorting and filtering for the tables of the report; nothing here fetches anything, and the page reads well without it.
(() => {
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
  for (const table of document.querySelectorAll("table.sortable, .ledger-table table")) {
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
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
  }
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const table = document.getElementById(input.dataset.filter);
    const count = document.getElementById(`${input.dataset.filter}-count`);
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
  }
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();
