// Desktop notifications, of requests that wait and of what this teammate is told: for this browser, off until somebody
// switches them on in their menu.
(() => {
  "use strict";
  const ON = "median-notify";
  const label = document.querySelector("[data-notifies]");
  if (!label || !("Notification" in window)) return;
  const box = label.querySelector("input");
  const isOn = () => localStorage.getItem(ON) !== null && Notification.permission === "granted";

  label.hidden = false;
  box.checked = isOn();
  box.addEventListener("change", async () => {
    localStorage.removeItem(ON);
    if (box.checked && (await Notification.requestPermission()) === "granted") localStorage.setItem(ON, "1");
    box.checked = isOn();
  });

  // The same id in every tab: the system shows it once.
  function show({ id, says, path }) {
    if (!isOn() || document.hasFocus()) return;
    const shown = new Notification(says, { tag: id });
    shown.addEventListener("click", () => { window.focus(); location.href = path; });
  }

  document.addEventListener("median:frame", ({ detail: frame }) => {
    if (frame.kind === "request" && frame.pending) show({ ...frame, path: `/approvals/${frame.id}/` });
  });
  document.addEventListener("median:notice", ({ detail: notice }) => show(notice));
})();
