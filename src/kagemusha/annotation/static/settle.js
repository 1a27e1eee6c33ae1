"use strict";
const csrf = document.querySelector("meta[name=csrf]").content;
const who = localStorage.getItem("kagemusha-name") || "adjudicator";
const list = document.getElementById("list");
const words = [...document.getElementById("classes").content.children];

async function call(path, body) {
  const answer = await fetch("/api/" + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf": csrf },
    body: JSON.stringify({ who, ...body }),
  });
  const reply = await answer.json();
  if (!answer.ok) throw new Error(reply.error || _("something went wrong"));
  return reply;
}

function word(answer) {
  const found = words.find((button) => button.dataset.answer === String(answer));
  return found ? found.textContent : answer;
}

async function load() {
  const reply = await call("conflicts", {});
  list.replaceChildren();
  const count = reply.conflicts.length;
  list.append(element("p", count === 1 ? _("One record waits for a decision. Yours stands, whatever others said.") : count ? _("{count} records wait for a decision. Yours stands, whatever others said.", { count }) : _("Nobody disagrees at the moment.")));
  for (const conflict of reply.conflicts) {
    const box = element("section", "", "conflict");
    box.append(...recordOf(conflict.shown), element("p", conflict.said.map((one) => `${one.who}: ${word(one.answer)}`).join(" · "), "who"));
    const row = element("div", "", "row");
    for (const button of words) {
      const mine = button.cloneNode(true);
      mine.addEventListener("click", async () => {
        const given = /^\d+$/.test(mine.dataset.answer) ? Number(mine.dataset.answer) : mine.dataset.answer;
        for (const other of row.children) other.disabled = true;
        try {
          await call("settle", { task: conflict.task, answer: given, key: crypto.randomUUID() });
          await load().catch(() => list.append(element("p", _("The server does not answer; load this page again."), "wrong")));
        } catch (error) {
          box.append(element("p", _("{why}: not kept, try again", { why: error.message }), "wrong"));
          for (const other of row.children) other.disabled = false;
        }
      });
      row.append(mine);
    }
    box.append(row);
    list.append(box);
  }
}
load().catch(() => list.append(element("p", _("The server does not answer; load this page again."), "wrong")));
