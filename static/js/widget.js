// The customer's chat: load the thread, send, keep what was typed. live.js brings what happens meanwhile.
import { Refused, authorization, begin, call, draft, takeToken } from "./widget-session.js";
import { localise } from "./widget-times.js";

const $ = (id) => document.getElementById(id);
const [form, text, error, again, items] = [$("w-form"), $("w-text"), $("w-error"), $("w-again"), $("w-items")];
const watched = document.querySelector("[data-watch-widget]");
const POLL_MS = 5_000;

let conversation = null; // the id of the one shown; "" before the first message
let unsent = draft.get().unsent; // { id, text, files }: the same sent again keeps its id, so that it cannot arrive twice
let polling = null;
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
    conversation = frame.conversation;
    watched.dataset.version = 0;
  }
  for (const part of frame.parts) Median.put(part, null);
  for (const item of frame.items) Median.put(item, items);
  watched.dataset.version = Math.max(watched.dataset.version, frame.version);
  $("w-intro").hidden = items.children.length > 0;
  $("w-foot").textContent = frame.foot;
}

async function load() {
  try {
    const frame = await call("thread");
    const isNew = conversation !== frame.conversation;
    show(frame);
    if (isNew) showMore(frame.more);
    document.body.dataset.token = await begin();
    document.dispatchEvent(new Event("median:watch"));
  } catch (problem) {
    if (!(problem instanceof Refused)) return poll();
    stopPolling(); // The same token would be refused again.
    say(problem.message);
    if (problem.wait) setTimeout(() => { say(""); load(); }, problem.wait);
    if (problem.code === "session_expired") tellPage("expired");
  }
}

// Whether there are earlier messages than those shown; while there are, live.js puts none before them.
function showMore(more) {
  $("w-earlier").hidden = !more;
  items.toggleAttribute("data-more", more);
}

async function sendMessage() {
  const typed = text.value, files = attached.ids();
  if (!(typed.trim() || files.length) || form.ariaBusy === "true") return;
  if (unsent?.text !== typed || unsent.files?.join() !== files.join()) unsent = { id: newId(), text: typed, files };
  keep();
  form.ariaBusy = "true";
  say("");
  try {
    await call("messages", { method: "POST", body: JSON.stringify({ text: typed, client_id: unsent.id, files }) });
    unsent = null;
    attached.clear(files);
    if (text.value === typed) text.value = "";
    keep();
    await load();
  } catch (problem) {
    if (problem instanceof Refused) say(problem.message, { retry: problem.wait > 0 });
    else say("Not sent. Your text is kept here.", { retry: true });
  } finally {
    form.ariaBusy = "false";
    text.focus();
  }
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
document.addEventListener("median:online", stopPolling);
document.addEventListener("median:refused", load);
document.addEventListener("median:refresh", () => { conversation = null; load(); });
window.addEventListener("hashchange", () => { if (takeToken()) { say(""); load(); } });
new MutationObserver(() => { localise(items); $("w-intro").hidden = items.children.length > 0; })
  .observe(items, { childList: true });

// In a frame, the page around it (embed.js) opens and closes the chat, counts what is new meanwhile, and may bring a new
// token when one has run out. It learns no more.
function tellPage(what) { if (parent !== window) parent.postMessage({ median: what }, "*"); }
const close = () => tellPage("close");
if (parent !== window) {
  document.addEventListener("median:item", ({ detail }) => {
    if (detail.isNew && !detail.element.querySelector(".w-msg--me")) tellPage("new");
  });
  $("w-close").hidden = false;
  $("w-close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !document.querySelector("dialog[open]")) close(); });
}

text.value = draft.get().text;
load();
