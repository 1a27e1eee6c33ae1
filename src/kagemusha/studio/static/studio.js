"use strict";
// Forms and buttons with data-call send their fields; the answer says what is replaced, or where to go.
const csrf = document.querySelector('meta[name="csrf"]').content;
const message = document.getElementById("message");
const byId = (id) => document.getElementById(id);
let busy = 0;

function say(text, wrong) {
  message.textContent = text;
  message.className = wrong ? "wrong" : "";
  message.setAttribute("role", wrong ? "alert" : "status");
}

async function call(name, body) {
  const sent = { t: document.body.dataset.table, lang: document.documentElement.lang, ...body };
  let answer;
  try {
    const response = await fetch("/api/" + name, {
      method: "POST",
      headers: { "content-type": "application/json", "x-csrf": csrf },
      body: JSON.stringify(sent),
    });
    answer = await response.json();
  } catch (error) {
    return { error: document.body.dataset.lost, lost: true };
  }
  return answer;
}

function replace(parts) {
  for (const [id, html] of Object.entries(parts || {})) {
    const old = byId(id);
    if (!old) continue;
    const holder = document.createElement("template");
    holder.innerHTML = html;
    old.replaceWith(holder.content);
  }
  sift();
}

function vouched() {
  return { who: byId("who") ? byId("who").value : "", source: byId("source") ? byId("source").value : "" };
}

function fields(form) {
  const body = {};
  for (const part of form.elements) {
    if (!part.name) continue;
    if (part.type === "checkbox") body[part.name] = part.checked;
    else body[part.name] = part.value;
  }
  return body;
}

async function act(name, body, from) {
  if (busy) return;
  busy += 1;
  const buttons = from.tagName === "FORM" ? [...from.querySelectorAll("button")] : [from];
  buttons.forEach((button) => { button.disabled = true; });
  document.body.setAttribute("aria-busy", "true");
  say("");
  const card = from.closest ? from.closest(".column") : null;
  const at = card ? card.id : null;
  const answer = await call(name, body);
  busy -= 1;
  document.body.removeAttribute("aria-busy");
  buttons.forEach((button) => { button.disabled = false; });
  if (answer.error) {
    say(answer.error, true);
    if (/^(who|source)$/.test(answer.field || "")) byId(answer.field).focus();
    return;
  }
  if (answer.go) { location.assign(answer.go); return; }
  replace(answer.replace);
  if (answer.said) say(answer.said);
  if (answer.reload) { location.reload(); return; }
  if (answer.focus && byId(answer.focus)) {
    const first = byId(answer.focus).querySelector("input:not([type=hidden]), select, textarea");
    if (first) first.focus();
  } else if (at) {
    next(byId(at));
  } else if (body.answer === "undo") {
    const again = document.querySelector("[data-again]");
    if (again) again.focus();
  }
}

// cards: the search, and moving between them
function sift() {
  const search = byId("search"), show = byId("show");
  if (!search) return;
  const wanted = search.value.toLowerCase();
  for (const card of document.querySelectorAll(".column")) {
    const fits = card.dataset.column.toLowerCase().includes(wanted) && (!show.value || card.dataset.state === show.value);
    card.hidden = !fits;
  }
}

function move(card, step) {
  const all = [...document.querySelectorAll(".column")].filter((one) => !one.hidden || one === card);
  const to = all[all.indexOf(card) + step];
  if (to) to.focus();
}

function next(card) {
  if (!card) return;
  const all = [...document.querySelectorAll(".column:not([hidden])")];
  const after = all.slice(all.indexOf(card) + 1).find((one) => one.dataset.state === "confirm");
  (after || card).focus();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.call) return;
  event.preventDefault();
  const body = fields(form);
  if ("vouched" in form.dataset) Object.assign(body, vouched());
  if (form.id === "confirm-all") body.search = byId("search").value;
  if (form.dataset.call === "solve") body.pairs = [...document.querySelectorAll("#pair-list li")].map((li) => li.dataset.pair);
  act(form.dataset.call, body, form);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-call]");
  if (!button) return;
  const { call: name, vouched: with_who, again, ...body } = button.dataset;
  if (with_who !== undefined) Object.assign(body, vouched());
  act(name, body, button);
});

const KEYS = { y: "confirm", c: "form", d: "drop", i: "identifier", o: "open" };
document.addEventListener("keydown", (event) => {
  const card = event.target;
  if (!card.classList || !card.classList.contains("column") || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key === "arrowdown" || key === "arrowup") {
    event.preventDefault();
    move(card, key === "arrowdown" ? 1 : -1);
  } else if (key === "u") {
    const undo = document.querySelector("[data-again]");
    if (undo && !undo.disabled) undo.click();
  } else if (KEYS[key]) {
    const button = card.querySelector(`button[data-answer="${KEYS[key]}"]`);
    if (button) { event.preventDefault(); button.click(); }
  }
});

for (const id of ["search", "show"]) if (byId(id)) byId(id).addEventListener("input", sift);
if (byId("who")) {
  byId("who").value = sessionStorage.getItem("who") || "";
  byId("who").addEventListener("input", () => sessionStorage.setItem("who", byId("who").value));
}
if (byId("signer")) byId("signer").value = sessionStorage.getItem("who") || "";

// the plan: a slider over points that are known, and the exact ε on request
const outlook = byId("outlook");
if (outlook) {
  const points = JSON.parse(outlook.dataset.points);
  const slider = byId("slider"), epsilon = byId("epsilon");
  const show = (point) => {
    for (const place of document.querySelectorAll("[data-word]")) place.textContent = point[place.dataset.word];
    const here = byId("here");
    here.setAttribute("x1", point.x); here.setAttribute("x2", point.x);
    for (const name of ["wrong", "found"]) {
      byId("dot-" + name).setAttribute("cx", point.x);
      byId("dot-" + name).setAttribute("cy", point[name] === null ? -20 : point[name]);
    }
    slider.setAttribute("aria-valuetext", "ε = " + point.epsilon + ". " + point.error);
  };
  let timer = 0;
  const ask = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const answer = await call("point", { epsilon: epsilon.value, rows: byId("rows").value });
      if (answer.error) { say(answer.error, true); return; }
      say("");
      show(answer.point);
    }, 250);
  };
  const nearest = () => {
    const wanted = Math.log(Number(epsilon.value) || 1);
    let best = 0;
    points.forEach((point, at) => {
      if (Math.abs(Math.log(point.epsilon) - wanted) < Math.abs(Math.log(points[best].epsilon) - wanted)) best = at;
    });
    return best;
  };
  const tried = byId("epsilon-tried");
  const alike = () => { if (tried) tried.value = epsilon.value; ask(); };
  slider.addEventListener("input", () => { epsilon.value = points[slider.value].epsilon; show(points[slider.value]); alike(); });
  epsilon.addEventListener("input", () => { slider.value = nearest(); alike(); });
  slider.value = nearest();
  show(points[slider.value]);
  ask();
  if (byId("pair-add")) byId("pair-add").addEventListener("click", () => {
    const pair = byId("pair-a").value + "," + byId("pair-b").value;
    if (byId("pair-a").value === byId("pair-b").value) return;
    const li = document.createElement("li"), away = document.createElement("button");
    li.dataset.pair = pair;
    li.textContent = pair.replace(",", " × ") + " ";
    away.type = "button"; away.className = "plain"; away.textContent = byId("pair-list").dataset.remove;
    away.addEventListener("click", () => li.remove());
    li.append(away);
    byId("pair-list").append(li);
  });
}

// a job: asked after until it is done; a server that was stopped may come back
const watch = byId("watch");
if (watch && !/^(done|failed)$/.test(watch.dataset.state)) {
  const look = async () => {
    const answer = await call("job", { id: watch.dataset.job });
    if (answer.replace) { say(""); replace(answer.replace); }
    else if (answer.lost) say(answer.error, true);
    if (!/^(done|failed)$/.test(answer.state || "")) setTimeout(look, 700);
  };
  setTimeout(look, 400);
}
