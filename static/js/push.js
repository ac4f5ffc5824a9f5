// Settings > Notifications: whether this browser is pushed to, and turning that on and off.
(() => {
  "use strict";
  const WORKER = "/push-worker.js";
  const form = () => document.getElementById("this-browser");
  const canPush = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

  function say(state) {
    for (const text of form().querySelectorAll("[data-push]")) text.hidden = text.dataset.push !== state;
    form().querySelector("[data-push-on]").hidden = state !== "off" && state !== "failed";
  }

  const subscription = async () => (await navigator.serviceWorker.getRegistration(WORKER))?.pushManager.getSubscription();

  async function look() {
    if (!form()) return;
    if (!canPush) return say("unable");
    if (Notification.permission === "denied") return say("blocked");
    // Known on both sides: the list marks this one, and the browser has a subscription.
    say(document.querySelector("[data-push-off]") && (await subscription()) ? "on" : "off");
  }

  function bytes(base64url) {
    const base64 = base64url.replaceAll("-", "+").replaceAll("_", "/");
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  }

  async function turnOn() {
    if ((await Notification.requestPermission()) !== "granted") return look();
    try {
      const registration = await navigator.serviceWorker.register(WORKER);
      await navigator.serviceWorker.ready;
      const made = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(form().dataset.pushKey) });
      const { endpoint, keys } = made.toJSON();
      form().elements.endpoint.value = endpoint;
      form().elements.p256dh.value = keys.p256dh;
      form().elements.auth.value = keys.auth;
      form().requestSubmit();
    } catch {
      say("failed");
    }
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-push-on]")) turnOn();
  });
  document.addEventListener("submit", async (event) => {
    if (event.target.closest("[data-push-off]")) (await subscription())?.unsubscribe();
  }, { capture: true });
  document.addEventListener("htmx:afterSettle", look);
  look();
})();
