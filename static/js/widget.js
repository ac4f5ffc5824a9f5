// The customer's chat: load the thread, send, keep what was typed. live.js brings what happens meanwhile.
import { Refused, authorization, begin, call, draft, handOvers, takeToken } from "./widget-session.js";
import { tellPage } from "./widget-frame.js";
import { count } from "./widget-shown.js";
import { localise } from "./widget-times.js";

const $ = (id) => document.getElementById(id);
const [form, text, error, again, items] = [$("w-form"), $("w-text"), $("w-error"), $("w-again"), $("w-items")];
const watched = document.querySelector("[data-watch-widget]");
const POLL_MS = 5_000;

takeToken(); // First of all: what was typed may have been another one's.
let conversation = null; // the id of the one shown; "" before the first message
let unsent = draft.get().unsent; // { id, text, files }: the same sent again keeps its id, so that it cannot arrive twice
let polling = null;
let isStuck = Boolean(unsent); // It was to leave and could not: it goes as soon as it can, unless it was changed.
const attached = attach(form, authorization);

// Not randomUUID, which browsers keep from pages without TLS.
const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const keep = () => draft.set({ text: text.value, unsent });

function say(message, { retry = false } = {}) {
  error.querySelector("span").textContent = message;
  error.hidden = !message;
  again.hidden = !retry;
}

function show(frame) {
  if (frame.conversation !== conversation) {
    items.replaceChildren();
    for (const part of ["w-head", "w-state"]) $(part).dataset.version = -1;
    conversation = watched.dataset.conversation = frame.conversation;
    watched.dataset.version = 0;
    showMore(frame.more);
  }
  for (const part of frame.parts) Median.put(part, null);
  for (const item of frame.items) Median.put(item, items);
  watched.dataset.version = Math.max(watched.dataset.version, frame.version);
  $("w-intro").hidden = items.children.length > 0;
  $("w-foot").textContent = frame.foot;
  items.closest("[role=log]").ariaBusy = "false"; // From now on it tells what comes.
}

async function load() {
  let before = handOvers;
  try {
    const token = await begin();
    before = handOvers;
    const frame = await call("thread");
    if (before !== handOvers) return; // Meanwhile it became another one's, who asked as well.
    show(frame);
    document.body.dataset.token = await begin();
    document.dispatchEvent(new Event("median:watch"));
    sendStuck();
  } catch (problem) {
    if (before !== handOvers) return;
    if (!(problem instanceof Refused)) { $("offline").hidden = false; return poll(); }
    stopPolling(); // The same token would be refused again.
    refused(problem);
    if (problem.wait) setTimeout(() => { say(""); load(); }, problem.wait);
  }
}

function refused(problem, retry) {
  say(problem.message, retry);
  if (problem.isExpired) tellPage("expired");
}

// Whether there are earlier messages than those shown; while there are, live.js puts none before them.
function showMore(more) {
  $("w-earlier").hidden = !more;
  items.toggleAttribute("data-more", more);
}

const isUnsent = () => unsent?.text === text.value && unsent.files?.join() === attached.ids().join();

async function sendMessage() {
  const typed = text.value, files = attached.ids();
  if (!(typed.trim() || files.length) || form.ariaBusy === "true") return;
  if (!isUnsent()) unsent = { id: newId(), text: typed, files };
  keep();
  [form.ariaBusy, isStuck] = ["true", false];
  say("");
  try {
    const body = JSON.stringify({ text: typed, client_id: unsent.id, files });
    await call("messages", { method: "POST", body, keepalive: body.length < 16_000 }); // though the page goes on
    unsent = null;
    attached.clear(files);
    if (text.value.startsWith(typed)) text.value = text.value.slice(typed.length).trimStart(); // some may be typed meanwhile
    keep();
    load();
  } catch (problem) {
    isStuck = !(problem instanceof Refused) || problem.isExpired;
    if (problem instanceof Refused) refused(problem, { retry: problem.wait > 0 });
    else say("Not sent yet. It is kept here, and goes out when the connection is back.", { retry: true });
  } finally {
    form.ariaBusy = "false";
    if (document.hasFocus()) text.focus();
  }
}

function sendStuck() {
  if (isStuck && isUnsent()) sendMessage();
}

async function showEarlier() {
  const first = items.firstElementChild;
  const frame = await call(`thread?before=${first.dataset.number}`);
  showMore(false);
  for (const item of frame.items) Median.put(item, items);
  showMore(frame.more);
  first.scrollIntoView();
}

form.addEventListener("submit", (event) => { event.preventDefault(); sendMessage(); });
again.addEventListener("click", () => form.requestSubmit());
text.addEventListener("input", keep);
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) { event.preventDefault(); form.requestSubmit(); }
});
$("w-intro").addEventListener("click", ({ target }) => {
  if (target.matches("button")) { text.value = target.textContent; form.requestSubmit(); }
});
$("w-earlier").addEventListener("click", () => showEarlier().catch(() => say("Earlier messages could not be loaded. Try again.")));

// Without a socket the thread is asked for every few seconds; with one, only what it says is new comes in.
const poll = () => { polling ??= setInterval(load, POLL_MS); };
const stopPolling = () => { clearInterval(polling); polling = null; };
document.addEventListener("median:offline", poll);
document.addEventListener("median:online", () => { stopPolling(); sendStuck(); });
document.addEventListener("median:refused", load);
document.addEventListener("median:refresh", () => { conversation = null; load(); });
document.addEventListener("median:frame", ({ detail }) => { if (detail.kind === "conversation" && detail.id !== conversation) load(); });
window.addEventListener("hashchange", () => {
  const taken = takeToken();
  if (!taken) return;
  if (taken.isSomebodyElse) { attached.clear(attached.ids()); [text.value, unsent] = ["", null]; }
  say("");
  load();
});
new MutationObserver(() => { localise(items); count(); $("w-intro").hidden = items.children.length > 0; })
  .observe(items, { childList: true });

text.value = draft.get().text;
load();
