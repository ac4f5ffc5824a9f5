// Shows what is pushed while no page of Median is open, and opens the page that it is about.
"use strict";

self.addEventListener("push", (event) => {
  const { tag, title, body, path } = event.data.json();
  event.waitUntil((async () => {
    const windows = await self.clients.matchAll({ type: "window" });
    if (windows.some((window) => window.focused)) return; // It is on the screen already.
    await self.registration.showNotification(title, { tag, body, data: { path } });
  })());
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = new URL(event.notification.data.path, self.location.origin).href;
  event.waitUntil((async () => {
    const windows = await self.clients.matchAll({ type: "window" });
    const there = windows.find((window) => window.url === url);
    await (there ? there.focus() : self.clients.openWindow(url));
  })());
});
