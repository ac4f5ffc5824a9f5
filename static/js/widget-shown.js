// Whether the chat is open, which the page around its frame (embed.js) decides, and how much is new while it is closed.
// On a page of its own it is always open.
import { isFramed, keptLong, tellPage } from "./widget-frame.js";

const $ = (id) => document.getElementById(id);
const [items, text] = [$("w-items"), $("w-text")];
let isShown = !isFramed;

// Counts what came since the chat was last shown, in any window of this browser.
export function count() {
  const { conversation } = items.parentElement.dataset, newest = Number(items.lastElementChild?.dataset.number ?? 0);
  const seen = JSON.parse(keptLong.get("seen") ?? "null");
  if (!conversation) return tellPage("unread", { count: 0 });
  if (isShown || !seen) {
    if (seen?.conversation !== conversation || seen.number < newest) keptLong.set("seen", JSON.stringify({ conversation, number: newest }));
    return tellPage("unread", { count: 0 });
  }
  const since = seen.conversation === conversation ? seen.number : 0;
  const fresh = [...items.children].filter((item) => Number(item.dataset.number) > since && !item.querySelector(".w-msg--me"));
  return tellPage("unread", { count: fresh.length });
}

const close = () => tellPage("close");

if (isFramed) window.addEventListener("message", ({ source, data }) => {
  if (source !== parent) return;
  if ($("w-close").hidden) mayClose();
  isShown = data?.median === "shown";
  count();
  // Where a touch writes, the keyboard would come up and cover the half of it.
  if (isShown && document.hasFocus()) (matchMedia("(pointer: coarse)").matches ? items.closest("[role=log]") : text).focus();
});
window.addEventListener("storage", count);
tellPage("ready");

// Known only from embed.js: another page may frame the chat in a place of its own, where it stays open.
function mayClose() {
  $("w-close").hidden = false;
  $("w-close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.isComposing && !document.querySelector("dialog[open]")) close();
  });
}
