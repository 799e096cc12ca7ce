// A table that its reader can sort and filter. Without this script it stands as it is.
"use strict";

for (const box of document.querySelectorAll("[data-script=sortable]")) {
  const body = box.querySelector("tbody");
  const rows = [...body.rows];
  const status = document.createElement("p");
  status.className = "sortable-status";
  status.setAttribute("role", "status");

  const filters = document.createElement("div");
  filters.className = "sortable-filters";
  const kept = rows.map((row) => row.dataset.kept.split("|"));
  const selects = box.dataset.filters.split("|").map((name, place) => {
    const label = document.createElement("label");
    const select = document.createElement("select");
    const values = [...new Set(kept.map((row) => row[place]))];
    values.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    select.addEventListener("change", filter);
    label.append(`${name} `, select);
    filters.append(label);
    return select;
  });

  function filter() {
    let shown = 0;
    rows.forEach((row, number) => {
      const fits = selects.every((s, place) => !s.value || s.value === kept[number][place]);
      row.hidden = !fits;
      shown += fits;
    });
    status.textContent = `${shown} of ${rows.length} rows`;
  }

  const heads = [...box.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const isNumber = head.hasAttribute("data-number");
      const key = ({ cells }) =>
        isNumber ? Number(cells[column].dataset.value) : cells[column].textContent;
      const order = (a, b) =>
        isNumber
          ? Number.isNaN(a) - Number.isNaN(b) || a - b
          : a.localeCompare(b, "en", { numeric: true });
      const sorted = [...rows].sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
      body.append(...sorted);
    });
  });

  box.prepend(filters, status);
  filter();
}
