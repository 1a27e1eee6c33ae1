"use strict";
// A record as a table; of a person with rows of other tables, the last of them below, one line each.

const translations = JSON.parse(document.body.dataset.words);
const _ = (sentence, fields = {}) => (translations[sentence] || sentence).replace(/\{(\w+)\}/g, (whole, name) => fields[name] ?? whole);

function element(name, text, kind) {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function valueOf(cell) {
  const value = document.createElement("td");
  value.append(element("span", cell.value, cell.unusual ? "odd" : ""));
  if (cell.unusual) value.append(element("span", _("unusual"), "odd-word"));
  return value;
}

function header(text, scope) {
  const made = element("th", text);
  made.scope = scope;
  return made;
}

function own(cells) {
  const table = element("table", "", "record");
  for (const cell of cells) {
    const row = document.createElement("tr");
    row.append(header(cell.column, "row"), valueOf(cell));
    table.append(row);
  }
  return table;
}

function rowsOf(name, cells) {
  const table = element("table", "", "record rows");
  table.append(element("caption", name));
  const columns = [...new Set(cells.map((cell) => cell.name))];
  const there = [...new Set(cells.filter((cell) => !cell.absent).map((cell) => cell.back))].sort((a, b) => b - a);
  const head = document.createElement("tr");
  head.append(...columns.map((column) => header(column, "col")));
  table.append(head);
  for (const back of there) {
    const row = document.createElement("tr");
    row.append(...columns.map((column) => valueOf(cells.find((cell) => cell.back === back && cell.name === column))));
    table.append(row);
  }
  if (there.length) return table;
  return element("p", _("{table}: no rows", { table: name }), "none");
}

function recordOf(shown) {
  const below = [...new Set(shown.filter((cell) => cell.of).map((cell) => cell.of))];
  return [own(shown.filter((cell) => !cell.of)), ...below.map((name) => rowsOf(name, shown.filter((cell) => cell.of === name)))];
}
