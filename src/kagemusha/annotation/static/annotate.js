"use strict";
// One record at a time. A label counts once the server has said so; until then the same key is sent again, which changes nothing.

const $ = (id) => document.getElementById(id);
const csrf = document.querySelector("meta[name=csrf]").content;
const classes = Number(document.body.dataset.classes);
let who = localStorage.getItem("kagemusha-name") || "";
let task = null;
let busy = false;
let finished = false;

async function call(path, body) {
  const answer = await fetch("/api/" + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf": csrf },
    body: JSON.stringify({ who, ...body }),
  });
  const reply = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(reply.error || _("something went wrong")), { final: answer.status < 500, taken: answer.status === 409 });
  return reply;
}

function say(text, wrong = false) {
  $("message").textContent = text;
  $("message").classList.toggle("wrong", wrong);
}

function show(next) {
  task = next;
  const card = $("card");
  card.replaceChildren();
  for (const button of document.querySelectorAll("#answers [data-answer], #skip")) button.disabled = !task;
  if (!task) {
    card.append(element("p", finished ? _("All labels are in. Thank you!") : _("No record to label at the moment. The next ones are being chosen; this page looks again by itself.")));
    setTimeout(() => { if (!task && !busy) load(); }, 1500);
    return;
  }
  card.append(...recordOf(task.shown));
}

async function act(path, body, done) {
  if (busy) return;
  busy = true;
  try {
    for (let wait = 250; ; wait = Math.min(4000, 2 * wait)) {
      try {
        const reply = await call(path, body);
        say(done);
        show(reply.task);
        break;
      } catch (error) {
        if (error.final) throw error;
        say(_("The server does not answer; trying again. Your label is not lost."), true);
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  } catch (error) {
    say(error.message, true);
    if (path !== "undo") await load(false);
  } finally {
    busy = false;
  }
}

function answer(value) {
  if (!task || busy) return;
  const given = /^\d+$/.test(value) ? Number(value) : value;
  const word = document.querySelector(`[data-answer="${value}"]`).textContent.trim().replace(/^\S+\s+/, "");
  act("label", { task: task.id, answer: given, key: crypto.randomUUID() }, _("Kept: {word}", { word }));
}

async function load(quiet = true) {
  try {
    const reply = await call("next", {});
    if (quiet) say("");
    show(reply.task);
  } catch (error) {
    if (error.taken) return leave(error.message);
    say(error.message, true);
    setTimeout(() => load(quiet), 2000);
  }
}

async function progress() {
  try {
    const reply = await call("progress", {});
    finished = reply.labels >= reply.wanted;
    $("labels-bar").max = reply.wanted;
    $("labels-bar").value = reply.labels;
    $("labels").textContent = _("{labels} of {wanted}", reply) + (reply.others ? _(", {others} without a class", reply) : "");
    $("privacy").textContent = _("{share} % of the budget used; ε = {epsilon} in all, whatever you label", { share: Math.round(100 * reply.spent), epsilon: reply.epsilon });
    $("stage").textContent = reply.stage.what;
    if (reply.quality) {
      const { right, of, low, high } = reply.quality;
      $("quality").textContent = _("right for {right} % of {of} random records (between {low} and {high} %)", { right: Math.round((100 * right) / of), of, low: Math.round(100 * low), high: Math.round(100 * high) });
    }
    if (reply.agreement.records) {
      const shown = (kappa) => kappa.toFixed(2).replace("-", "−");
      const kappa = reply.agreement.fleiss;
      const pairs = Object.entries(reply.agreement.cohen).slice(0, 3).map(([who, of]) => _("; {who}: Cohen's κ = {kappa}", { who, kappa: shown(of) })).join("");
      $("agreement").textContent = _("{alike} of {records} records labelled alike", reply.agreement) + (kappa === null ? "" : _(", Fleiss' κ = {kappa}", { kappa: shown(kappa) })) + pairs;
    }
  } catch { /* the next look may succeed */ }
}

function begin() {
  $("sign-in").hidden = Boolean(who);
  $("work").hidden = !who;
  if (who) load(); else $("name").focus();
}

$("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  who = $("name").value.trim();
  localStorage.setItem("kagemusha-name", who);
  begin();
});
function leave(why) {
  who = "";
  localStorage.removeItem("kagemusha-name");
  $("why").textContent = why;
  begin();
}

$("other").addEventListener("click", () => leave(""));
$("skip").addEventListener("click", () => { if (task) act("skip", { task: task.id }, _("Skipped")); });
$("undo").addEventListener("click", () => act("undo", {}, _("Taken back: label it again")));
for (const button of document.querySelectorAll("[data-answer]")) button.addEventListener("click", () => answer(button.dataset.answer));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.tagName === "INPUT" || !who) return;
  const number = Number(event.key);
  if (number >= 1 && number <= classes) answer(String(number - 1));
  else if (event.key === "c") answer("unknown");
  else if (event.key === "x") answer("impossible");
  else if (event.key === "s") $("skip").click();
  else if (event.key === "u") $("undo").click();
  else return;
  event.preventDefault();
});

begin();
progress();
setInterval(progress, 3000);
