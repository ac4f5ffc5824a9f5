// The customer's chat: load the thread, send, keep what was typed. live.js brings what happens meanwhile.
import { Refused, begin, call, draft, takeToken } from "./widget-session.js";
import { localise } from "./widget-times.js";

const $ = (id) => document.getElementById(id);
const [form, text, error, again, items] = [$("w-form"), $("w-text"), $("w-error"), $("w-again"), $("w-items")];
const watched = document.querySelector("[data-watch-widget]");
const POLL_MS = 5_000;

let conversation = "";
let unsent = null; // { id, text }: the same text sent again keeps its id, so that it cannot arrive twice
let polling = null;

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

function say(message, { retry = false } = {}) {
  error.querySelector("span").textContent = message;
  error.hidden = !message;
  again.hidden = !retry;
}

// Put a fragment of the server in its place: newer ones replace older ones, new items stand in the order of their numbers.
function put(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const fresh = holder.content.firstElementChild;
  const old = $(fresh.id);
  if (old) {
    if (Number(old.dataset.version) < Number(fresh.dataset.version)) old.replaceWith(fresh);
    return;
  }
  const number = Number(fresh.dataset.number);
  const next = [...items.children].find((item) => Number(item.dataset.number) > number);
  items.insertBefore(fresh, next ?? null);
}

function show(frame) {
  if (frame.conversation !== conversation) {
    items.replaceChildren();
    for (const part of ["w-head", "w-state"]) $(part).dataset.version = -1;
    conversation = frame.conversation;
    watched.dataset.version = 0;
  }
  for (const fragment of [...frame.parts, ...frame.items]) put(fragment.html);
  watched.dataset.version = Math.max(watched.dataset.version, frame.version);
  $("w-foot").textContent = frame.foot;
}

async function load() {
  try {
    const frame = await call("thread");
    const known = conversation === frame.conversation && items.children.length;
    show(frame);
    if (!known) $("w-earlier").hidden = !frame.more;
    items.toggleAttribute("data-more", !$("w-earlier").hidden);
    $("w-intro").hidden = items.children.length > 0;
    document.body.dataset.token = await begin();
    document.dispatchEvent(new Event("median:watch"));
    return true;
  } catch (problem) {
    if (problem instanceof Refused) say(problem.message);
    return false;
  }
}

async function sendMessage() {
  const typed = text.value;
  if (!typed.trim() || form.ariaBusy === "true") return;
  if (unsent?.text !== typed) unsent = { id: newId(), text: typed };
  form.ariaBusy = "true";
  say("");
  try {
    await call("messages", { method: "POST", body: JSON.stringify({ text: typed, client_id: unsent.id }) });
    unsent = null;
    if (text.value === typed) text.value = "";
    draft.set(text.value);
    await load();
  } catch (problem) {
    if (problem instanceof Refused) say(problem.message);
    else say("Not sent. Your text is kept here.", { retry: true });
  } finally {
    form.ariaBusy = "false";
    text.focus();
  }
}

async function showEarlier() {
  const first = items.firstElementChild;
  const frame = await call(`thread?before=${first.dataset.number}`);
  items.removeAttribute("data-more");
  for (const item of frame.items) put(item.html);
  $("w-earlier").hidden = !frame.more;
  items.toggleAttribute("data-more", frame.more);
  first.scrollIntoView();
}

form.addEventListener("submit", (event) => { event.preventDefault(); sendMessage(); });
again.addEventListener("click", sendMessage);
text.addEventListener("input", () => draft.set(text.value));
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); sendMessage(); }
});
$("w-intro").addEventListener("click", ({ target }) => {
  if (target.matches("button")) { text.value = target.textContent; sendMessage(); }
});
$("w-earlier").addEventListener("click", () => showEarlier().catch(() => say("Earlier messages could not be loaded. Try again.")));

// Without a socket the thread is asked for every few seconds; with one, only what it says is new comes in.
document.addEventListener("median:offline", () => { polling ??= setInterval(load, POLL_MS); });
document.addEventListener("median:online", () => { clearInterval(polling); polling = null; });
document.addEventListener("median:refused", load);
document.addEventListener("median:refresh", load);
window.addEventListener("hashchange", () => { if (takeToken()) { say(""); load(); } });
new MutationObserver(() => { localise(items); $("w-intro").hidden = items.children.length > 0; }).observe(items, { childList: true });

// In a frame, the page around it (embed.js) opens and closes the chat, and counts what is new meanwhile. It learns no more.
const close = () => parent.postMessage({ median: "close" }, "*");
if (parent !== window) {
  document.addEventListener("median:item", ({ detail }) => {
    if (detail.isNew && !detail.element.querySelector(".w-msg--me")) parent.postMessage({ median: "new" }, "*");
  });
  $("w-close").hidden = false;
  $("w-close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
}

text.value = draft.get();
load().then((done) => { if (!done) polling ??= setInterval(load, POLL_MS); });
